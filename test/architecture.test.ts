/** Layers of the source, read from its imports, and rules for its files. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';

const source = resolve(import.meta.dirname, '../src');

/** Layers of the source: its top-level folders, lowest first, each with those that it may import besides itself and `core`. */
const ALLOWED: Record<string, readonly string[]> = {
  core: [],
  security: [],
  records: [],
  catalog: [],
  net: ['security'],
  protocols: [],
  providers: [],
  http1: [],
  transport: ['http1'],
  identity: ['net', 'security', 'transport'],
  telemetry: ['security'],
  store: ['records', 'security'],
  config: ['net', 'protocols', 'records', 'security'],
  routing: ['catalog', 'protocols', 'transport'],
  keys: ['net', 'records', 'security', 'store'],
  jobs: ['store'],
  limits: ['keys', 'records', 'store'],
  usage: ['catalog', 'net', 'records', 'security', 'store'],
  webhooks: ['jobs', 'net', 'records', 'security', 'store', 'telemetry'],
  inference: ['catalog', 'net', 'protocols', 'routing', 'transport', 'usage'],
  videos: [
    ...['catalog', 'jobs', 'net', 'protocols', 'records', 'routing'],
    ...['security', 'store', 'telemetry', 'transport', 'webhooks'],
  ],
  'stored-responses': ['inference', 'protocols', 'records', 'routing', 'security', 'store', 'transport'],
  accounting: ['catalog', 'inference', 'keys', 'limits', 'records', 'routing', 'store', 'usage', 'videos'],
  http: [
    ...['accounting', 'catalog', 'http1', 'inference', 'keys', 'limits', 'net', 'protocols', 'records', 'routing'],
    ...['security', 'store', 'stored-responses', 'telemetry', 'usage', 'videos', 'webhooks'],
  ],
};
ALLOWED.backup = ['config', 'security', 'store', 'usage'];
/** Wiring may import everything below it. */
ALLOWED.gateway = Object.keys(ALLOWED);
ALLOWED.cli = [...Object.keys(ALLOWED)];
ALLOWED.main = ['cli'];

/**
 * Who may load which library: every dependency of package.json, and the parts of Node.js that open sockets, resolve names,
 * start programs, processes and threads, or know SQL. Each folder here loads it today; types alone may be imported anywhere.
 */
const LIBRARIES: Record<string, readonly string[]> = {
  '@opentelemetry/api': ['telemetry'],
  '@opentelemetry/exporter-metrics-otlp-http': ['telemetry'],
  '@opentelemetry/exporter-trace-otlp-http': ['telemetry'],
  '@opentelemetry/resources': ['telemetry'],
  '@opentelemetry/sdk-metrics': ['telemetry'],
  '@opentelemetry/sdk-trace': ['telemetry'],
  commander: ['cli'],
  'js-yaml': ['cli', 'config'],
  'jsonc-parser': ['cli'],
  'node:child_process': ['cli', 'identity'],
  'node:cluster': ['gateway'],
  'node:dns': ['net', 'transport'],
  'node:net': ['http1', 'net', 'transport'],
  'node:sqlite': ['store'],
  'node:tls': ['net', 'transport'],
  'node:worker_threads': ['store', 'webhooks'],
  pg: ['store'],
  pino: ['cli', 'telemetry'],
  'prom-client': ['telemetry'],
  'smol-toml': ['cli'],
  typebox: ['config', 'core', 'http', 'protocols', 'providers', 'routing', 'videos'],
  undici: ['net'],
  ws: ['http'],
};

/** Parts of Node.js that open sockets, and that no file loads. */
const UNUSED_LIBRARIES: readonly string[] = ['node:dgram', 'node:http', 'node:http2', 'node:https', 'node:inspector'];

const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));

function areaOf(path: string): string {
  return (relative(source, path).split(/[/\\]/)[0] as string).replace(/\.ts$/, '');
}

/** Imports of a file: those at its top, and those that it loads later by `import('…')`. */
function importsOf(file: string): { target: string; typeOnly: boolean }[] {
  const text = readFileSync(join(source, file), 'utf8');
  const atTop = text.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm);
  const later = text.matchAll(/\b(typeof )?import\(\s*['"`]([^'"`]+)['"`]/g);
  return [...atTop, ...later].map((match) => ({ target: match[2] as string, typeOnly: match[1] !== undefined }));
}

/** The library that an import names, without the path inside of it. */
function libraryOf(target: string): string {
  const library = target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/');
  return isBuiltin(library) && !library.startsWith('node:') ? `node:${library}` : library;
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
        const library = libraryOf(target);
        assert.ok(!UNUSED_LIBRARIES.includes(library), `${file} uses ${library}`);
        const users = LIBRARIES[library];
        if (users) assert.ok(users.includes(area), `${file} uses ${library}`);
      }
    }
  });
}

test('every library is loaded by exactly the folders of the list, and every dependency is in it', () => {
  const loads = files.flatMap((file) =>
    importsOf(file)
      .filter(({ target, typeOnly }) => !target.startsWith('.') && !typeOnly)
      .map(({ target }) => ({ library: libraryOf(target), area: areaOf(join(source, file)) })),
  );
  for (const [library, users] of Object.entries(LIBRARIES)) {
    assert.notEqual(users.length, 0, library);
    const areas = new Set(loads.filter((load) => load.library === library).map(({ area }) => area));
    assert.deepEqual([...areas].toSorted(), users, library);
  }
  const { dependencies } = JSON.parse(readFileSync(resolve(source, '../package.json'), 'utf8'));
  const missing = Object.keys(dependencies).filter((library) => !(library in LIBRARIES));
  assert.deepEqual(missing, []);
});

test('no file imports itself, directly or through others, types and later imports included', () => {
  assert.deepEqual(importCycles(files), []);
  const pages = readdirSync(resolve(source, '../ui/src'), { recursive: true, encoding: 'utf8' });
  assert.deepEqual(importCycles(pages.filter((file) => /\.tsx?$/.test(file)).map((file) => `../ui/src/${file}`)), []);
});

test('no file imports from the pages of the dashboard', () => {
  const pages = resolve(source, '../ui');
  for (const file of files) {
    for (const { target } of importsOf(file)) {
      const isInside =
        target.startsWith('.') && !relative(pages, resolve(source, dirname(file), target)).startsWith('..');
      assert.ok(!isInside, `${file} imports ${target}`);
    }
  }
});

test('only the parts of the pages use the library of controls', () => {
  const pages = resolve(source, '../ui/src');
  const users = readdirSync(pages, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && readFileSync(join(pages, file), 'utf8').includes("'@ariakit/"))
    .map((file) => file.replaceAll('\\', '/'));
  assert.notEqual(users.length, 0);
  assert.deepEqual(
    users.filter((file) => !file.startsWith('parts/')),
    [],
  );
});

test('no exported type has a name twice', () => {
  const owners = new Map<string, string[]>();
  for (const file of files) {
    const text = readFileSync(join(source, file), 'utf8');
    for (const [, name = ''] of text.matchAll(/^export (?:interface|type|(?:abstract )?class) (\w+)/gm)) {
      owners.set(name, [...(owners.get(name) ?? []), file]);
    }
  }
  assert.deepEqual(
    [...owners].filter(([, declared]) => declared.length > 1),
    [],
  );
});

test('protocols do not import each other, and neither do providers', () => {
  for (const file of files.filter((path) => /^protocols\/\w+\//.test(path))) {
    const own = file.split('/')[1];
    for (const { target } of importsOf(file)) {
      if (!target.startsWith('.')) continue;
      const [area, folder] = relative(source, resolve(source, dirname(file), target)).split('/');
      const isShared = folder?.endsWith('.ts') && folder !== 'index.ts';
      if (area === 'protocols' && !isShared) assert.equal(folder, own, `${file} imports ${target}`);
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

test('schemas name what they take from TypeBox, so that the bundle leaves the rest out', () => {
  for (const file of files) {
    assert.doesNotMatch(
      readFileSync(join(source, file), 'utf8'),
      /import [^;]*\{[^}]*\bType\b[^}]*\} from 'typebox'/,
      file,
    );
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

/** Where time comes from: everything else gets a clock, which tests move. */
const CLOCK = 'core/clock.ts';

/** Other files that use the time of the machine, and why they may. */
const OTHER_CLOCKS: Record<string, string> = {
  'catalog/import/main.ts': 'a script for maintainers, which no part of the gateway runs',
};

/** Uses of the machine's time; `setImmediate` is none: it gives way to other work, and never waits. */
const TIME_USES: readonly RegExp[] = [
  /\bset(?:Timeout|Interval)\b/,
  /\bDate\.now\b|\bnew Date\(\)|\bDate\(\)/,
  /\bperformance\.(?:now|timeOrigin)\b|\bhrtime\b|\bprocess\.uptime\b/,
  /\bAbortSignal\.timeout\b/,
  /\bfrom '(?:node:)?timers'|\bscheduler\.wait\b/,
  /^import (?!\{ setImmediate(?: as \w+)? \} from).*'(?:node:)?timers\/promises'/m,
];

test('only the clock reads the time of the machine and sets timers', () => {
  const found = files.filter((file) => {
    const text = readFileSync(join(source, file), 'utf8');
    return TIME_USES.some((use) => use.test(text));
  });
  assert.deepEqual(
    found.map((file) => file.replaceAll('\\', '/')).toSorted(),
    [CLOCK, ...Object.keys(OTHER_CLOCKS)].toSorted(),
  );
});

test('a file begins with a noun phrase that says what it is', () => {
  for (const file of files.filter((path) => path !== 'main.ts')) {
    const [first = '', second = ''] = readFileSync(join(source, file), 'utf8').split('\n');
    const header = first === '/**' ? second.replace(/^ \* /, '') : first.replace(/^\/\*\* /, '');
    assert.match(first, /^\/\*\*/, file);
    assert.doesNotMatch(header, /^(?:What|How|Who|Whose|Which|Where|When|Whether|That|If)\b/, file);
  }
});

test('no file of src spreads a literal: its members are written out, however many lines they take', () => {
  const spread = files.filter((file) => /\.\.\.\(?(?:\{|\[\s*['"])/.test(readFileSync(join(source, file), 'utf8')));
  assert.deepEqual(spread, []);
});

test('files stay small enough to be read at once', () => {
  for (const file of files) {
    const lines = readFileSync(join(source, file), 'utf8').split('\n').length;
    const limit = file.includes('stream') ? 400 : 300;
    assert.ok(lines <= limit, `${file} has ${lines} lines`);
  }
});

/** Groups of files that reach each other through imports (Tarjan's strongly connected components). */
function importCycles(paths: readonly string[]): string[][] {
  const all = new Set(paths.map((path) => path.replaceAll('\\', '/')));
  const indexes = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];

  function visit(file: string): void {
    indexes.set(file, indexes.size);
    lowest.set(file, indexes.size - 1);
    stack.push(file);
    for (const { target } of importsOf(file)) {
      if (!target.startsWith('.')) continue;
      const other = relative(source, resolve(source, dirname(file), target)).replaceAll('\\', '/');
      if (!indexes.has(other)) {
        if (all.has(other)) visit(other);
        lowest.set(file, Math.min(lowest.get(file) ?? 0, lowest.get(other) ?? Number.POSITIVE_INFINITY));
      } else if (stack.includes(other)) {
        lowest.set(file, Math.min(lowest.get(file) ?? 0, indexes.get(other) ?? 0));
      }
    }
    if (lowest.get(file) !== indexes.get(file)) return;
    const cycle = stack.splice(stack.indexOf(file));
    if (cycle.length > 1) cycles.push(cycle.toSorted());
  }

  for (const file of all) if (!indexes.has(file)) visit(file);
  return cycles;
}
