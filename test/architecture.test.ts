/** The layers of the house, read from its imports. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';

const source = resolve(import.meta.dirname, '../src');

/** What each area may import besides itself and `core`. */
const ALLOWED: Record<string, string[]> = {
  core: [],
  protocols: [],
  providers: [],
  catalog: [],
  net: [],
  telemetry: [],
  store: [],
  config: [],
  routing: ['catalog'],
  keys: ['net', 'telemetry', 'store'],
  jobs: ['telemetry', 'store'],
  limits: ['store', 'keys'],
  usage: ['catalog', 'telemetry', 'store', 'keys'],
  webhooks: ['net', 'telemetry', 'store', 'keys', 'jobs'],
  inference: ['protocols', 'catalog', 'net', 'telemetry', 'store', 'keys', 'usage', 'routing'],
  videos: ['catalog', 'net', 'telemetry', 'store', 'keys', 'jobs', 'webhooks', 'inference'],
  http: [
    'protocols',
    'catalog',
    'net',
    'telemetry',
    'store',
    'keys',
    'jobs',
    'usage',
    'limits',
    'webhooks',
    'inference',
    'videos',
  ],
  models: ['protocols', 'providers', 'catalog', 'config', 'inference', 'routing'],
  secrets: ['config', 'store', 'webhooks'],
  admin: ['config', 'http'],
  tasks: everything('tasks', 'models', 'gateway', 'cli', 'main'),
  accounting: everything('accounting', 'tasks', 'models', 'gateway', 'cli', 'main'),
  gateway: everything('gateway', 'cli', 'main'),
  cli: everything('cli', 'main'),
  main: ['cli'],
};

function everything(...but: string[]): string[] {
  const areas = [
    'protocols',
    'providers',
    'catalog',
    'net',
    'telemetry',
    'store',
    'config',
    'keys',
    'jobs',
    'usage',
    'limits',
    'webhooks',
    'routing',
  ];
  return [
    ...areas,
    'inference',
    'videos',
    'http',
    'secrets',
    'admin',
    'tasks',
    'accounting',
    'models',
    'gateway',
    'cli',
  ].filter((area) => !but.includes(area));
}

/** Libraries that open sockets, read the environment or know SQL, and who may use them. */
const RESTRICTED: Record<string, string[]> = {
  undici: ['inference', 'net'],
  fastify: ['http'],
  'node:http': ['http'],
  pg: ['store'],
  'node:sqlite': ['store'],
  commander: ['cli'],
  yaml: ['config', 'cli'],
};

const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));

function areaOf(path: string): string {
  return (relative(source, path).split(/[/\\]/)[0] as string).replace(/\.ts$/, '');
}

function importsOf(file: string): { target: string; typeOnly: boolean }[] {
  const text = readFileSync(join(source, file), 'utf8');
  return [...text.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm)].map((match) => ({
    target: match[2] as string,
    typeOnly: match[1] !== undefined,
  }));
}

for (const file of files) {
  const area = areaOf(join(source, file));
  test(`${file} imports only what its layer may`, () => {
    assert.ok(ALLOWED[area], `${area} is an area of the architecture`);
    for (const { target, typeOnly } of importsOf(file)) {
      if (target.startsWith('.')) {
        const other = areaOf(resolve(source, dirname(file), target));
        if (other === area || other === 'core') continue;
        assert.ok(ALLOWED[area].includes(other), `${file} imports ${target}`);
      } else if (!typeOnly) {
        const library = target
          .split('/')
          .slice(0, target.startsWith('@') ? 2 : 1)
          .join('/');
        const users = RESTRICTED[library];
        if (users) assert.ok(users.includes(area), `${file} uses ${library}`);
      }
    }
  });
}

test('protocols do not import each other, and neither do providers', () => {
  for (const file of files.filter((path) => path.startsWith('protocols/') && path !== 'protocols/index.ts')) {
    const own = file.split('/')[1];
    for (const { target } of importsOf(file)) {
      if (!target.startsWith('.')) continue;
      const [area, folder] = relative(source, resolve(source, dirname(file), target)).split('/');
      if (area === 'protocols') assert.equal(folder, own, `${file} imports ${target}`);
    }
  }
  const provider = /^providers\/[\w-]+\.ts$/;
  for (const file of files.filter((path) => provider.test(path) && path !== 'providers/index.ts')) {
    for (const { target } of importsOf(file))
      assert.ok(target === './type.ts' || !/^\.\/[\w-]+\.ts$/.test(target), `${file} imports ${target}`);
  }
});

test('only config and the command line read the environment', () => {
  for (const file of files.filter((path) => !['config', 'cli', 'main'].includes(areaOf(join(source, path))))) {
    assert.ok(!readFileSync(join(source, file), 'utf8').includes('process.env'), file);
  }
});

test('no code decides by the id of a provider or the name of a model', () => {
  for (const file of files) {
    const text = readFileSync(join(source, file), 'utf8');
    assert.ok(!/(provider|type)\.id\s*===\s*'/.test(text), file);
    // A provider's table of model families says whose state is interchangeable; it decides nothing.
    if (file.startsWith('providers/')) continue;
    assert.ok(!/\bmodel(\.(id|upstreamId|name))?\.(startsWith|match)\(/.test(text), file);
  }
});

test('files stay small enough to be read at once', () => {
  for (const file of files) {
    const lines = readFileSync(join(source, file), 'utf8').split('\n').length;
    const limit = file.includes('stream') ? 400 : 300;
    assert.ok(lines <= limit, `${file} has ${lines} lines`);
  }
});
