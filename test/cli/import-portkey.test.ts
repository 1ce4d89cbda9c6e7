// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the file's own references to the environment

/** `polygate import portkey`: what is taken over, what is listed, and a gateway that routes by it. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { importPortkey } from '../../src/cli/import/portkey.ts';
import type { Json } from '../../src/core/json/json.ts';
import { program } from './program.ts';

const CONFIG = {
  strategy: { mode: 'fallback', on_status_codes: [429, 500] },
  request_timeout: 30_500,
  retry: { attempts: 3 },
  targets: [
    { provider: 'openai', api_key: 'sk-of-openai', override_params: { model: 'gpt-5', temperature: 0 } },
    {
      strategy: { mode: 'loadbalance' },
      override_params: { model: 'claude-sonnet-5' },
      targets: [
        { provider: 'anthropic', api_key: 'sk-of-anthropic', weight: 3 },
        { virtual_key: 'anthropic-team-1a2b', weight: 1 },
      ],
    },
    { provider: '@groq-prod', cache: { mode: 'semantic' }, override_params: { model: 'llama' } },
    { provider: 'bedrock', override_params: { model: 'x' } },
    { provider: 'mistral-ai', api_key: 'sk-of-mistral' },
  ],
};

test('a target at a platform is told the page about it, one that nobody knows is not', () => {
  const targets = ['azure-openai', 'vertex-ai', 'bedrock', 'nowhere'].map((provider) => ({ provider }));
  const { notes } = importPortkey([{ strategy: { mode: 'fallback' }, targets }]);
  assert.deepEqual(
    notes.map(({ advice }) => advice),
    [
      'write this provider yourself: docs/providers.md#azure-openai-and-microsoft-foundry',
      'write this provider yourself: docs/providers.md#google-vertex-ai',
      'write this provider yourself: docs/providers.md#amazon-bedrock',
      '"nowhere" is of a provider that is not supported, or that its name does not tell',
    ],
  );
  const page = readFileSync(join(import.meta.dirname, '../../docs/providers.md'), 'utf8').toLowerCase();
  for (const { advice } of notes.slice(0, 3)) {
    const title = (advice.split('#')[1] ?? '').replaceAll('-', ' ');
    assert.ok(page.includes(`# ${title}\n`), title);
  }
});

test('targets become providers and endpoints, those of a fallback by priority and those of a balance by weight', () => {
  const { config, notes } = importPortkey([
    { success: true, data: { slug: 'pc-main', config: JSON.stringify(CONFIG) } },
  ]);
  assert.deepEqual(config, {
    server: { deadlines: { total: '31s' } },
    providers: {
      openai: { api_key: '${OPENAI_API_KEY}' },
      anthropic: { api_key: '${ANTHROPIC_API_KEY}' },
      'anthropic-2': { type: 'anthropic', api_key: '${ANTHROPIC_TEAM_1A2B_API_KEY}' },
      groq: { api_key: '${GROQ_PROD_API_KEY}' },
      mistral: { api_key: '${MISTRAL_API_KEY}' },
    },
    models: {
      'team/pc-main': {
        endpoints: [
          { provider: 'openai', model: 'gpt-5' },
          { provider: 'anthropic', model: 'claude-sonnet-5', priority: 1, weight: 3 },
          { provider: 'anthropic-2', model: 'claude-sonnet-5', priority: 1, weight: 1 },
          { provider: 'groq', model: 'llama', priority: 2 },
        ],
      },
    },
    aliases: { 'pc-main': 'team/pc-main' },
    default_model: 'team/pc-main',
  });
  const listed = notes.map(({ path }) => path);
  for (const path of [
    'pc-main.retry',
    'pc-main.strategy.on_status_codes',
    'pc-main.targets[0].api_key',
    'pc-main.targets[0].override_params.temperature',
    'pc-main.targets[1].targets[1]',
    'pc-main.targets[2].cache',
    'pc-main.targets[3]',
    'pc-main.targets[4].override_params.model',
  ])
    assert.ok(listed.includes(path), `${path} in ${listed}`);
});

test('camel case, a single target and a host of its own are understood', () => {
  const single = {
    provider: 'openai',
    apiKey: 'sk',
    customHost: 'http://127.0.0.1:8000/v1',
    overrideParams: { model: 'm' },
  };
  assert.deepEqual(importPortkey([single]).config, {
    providers: {
      'openai-compatible': { api_key: '${OPENAI_API_KEY}', base_url: 'http://127.0.0.1:8000/v1' },
    },
    models: { 'team/portkey': { endpoints: [{ provider: 'openai-compatible', model: 'm' }] } },
    aliases: { portkey: 'team/portkey' },
    default_model: 'team/portkey',
  });
});

test('the address of an Ollama server is that of its /v1, and one that is no URL is listed', () => {
  const imported = (provider: string, host: string) =>
    importPortkey([{ provider, custom_host: host, override_params: { model: 'm' } }]);
  const { providers } = imported('ollama', 'http://localhost:11434').config;
  assert.equal(providers.ollama.base_url, 'http://localhost:11434/v1');
  const { config, notes } = imported('openai', 'https://a.test/v1?key=a-secret');
  assert.deepEqual(config.providers, {});
  assert.deepEqual(notes, [{ path: 'portkey.custom_host', advice: 'is no http:// or https:// URL without a query' }]);
});

test('a target of weight 0 gets no requests, so it is no endpoint', () => {
  const target = (provider: string, weight: number) => ({ provider, weight, override_params: { model: 'm' } });
  const { config, notes } = importPortkey([
    { strategy: { mode: 'loadbalance' }, targets: [target('openai', 1), target('groq', 0)] },
  ]);
  assert.deepEqual(config.models['team/portkey'].endpoints, [{ provider: 'openai', model: 'm', weight: 1 }]);
  assert.deepEqual(
    notes.map(({ path }) => path),
    ['portkey.targets[1].weight'],
  );
});

test('each secret in a file gets a variable of its own, also one in the vault', () => {
  const target = (account: Json) => ({ ...account, override_params: { model: 'm' } });
  const targets = [
    ...['sk-one', 'sk-two', 'sk-one'].map((api_key) => target({ provider: 'openai', api_key })),
    ...['openai-a', 'openai_a', 'openai-a'].map((virtual_key) => target({ virtual_key })),
  ];
  const { config, notes } = importPortkey([{ strategy: { mode: 'loadbalance' }, targets }]);
  assert.deepEqual(
    config.models['team/portkey'].endpoints.map(({ provider }: Json) => config.providers[provider].api_key),
    ['${OPENAI_API_KEY}', '${OPENAI_API_KEY_2}', '${OPENAI_API_KEY}', '${OPENAI_A_API_KEY}', '${OPENAI_A_API_KEY}'],
  );
  assert.match(String(notes.find(({ path }) => path === 'portkey.targets[1].api_key')?.advice), /OPENAI_API_KEY_2$/);
  assert.ok(
    notes.some(({ path, advice }) => path === 'portkey.targets[4]' && /"openai_a" is of a provider/.test(advice)),
  );
});

test('targets, weights, modes and timeouts of another form are listed by name', () => {
  const one = { provider: 'openai', override_params: { model: 'm' } };
  const cases: [config: Json, ...paths: string[]][] = [
    [{ targets: [one, one] }, 'portkey.targets[1]'],
    [{ strategy: { mode: 'single' }, targets: [one, null] }, 'portkey.targets[1]'],
    [{ strategy: { mode: 'weird' }, targets: [one, 'x'] }, 'portkey.strategy.mode', 'portkey.targets[1]'],
    [
      {
        strategy: { mode: 'loadbalance' },
        targets: [
          { ...one, weight: -1 },
          { ...one, weight: 'abc' },
        ],
      },
      'portkey.targets[0].weight',
      'portkey.targets[1].weight',
    ],
    [{ ...one, request_timeout: -5 }, 'portkey.request_timeout'],
    [{ ...one, request_timeout: 1e15 }, 'portkey.request_timeout'],
    [{ ...one, override_params: 'text' }, 'portkey.override_params.model'],
    [{ ...one, override_params: { model: ' ' } }, 'portkey.override_params.model'],
  ];
  for (const [config, ...paths] of cases)
    assert.deepEqual(
      importPortkey([config]).notes.map(({ path }) => path),
      paths,
    );
});

test('configs with one slug are models of their own', () => {
  const config = (model: string) => ({
    data: { slug: 'pc', config: { provider: 'openai', override_params: { model } } },
  });
  const { models } = importPortkey([config('a'), config('b')]).config;
  assert.deepEqual(
    Object.entries<Json>(models).map(([name, { endpoints }]) => [name, endpoints[0].model]),
    [
      ['team/pc', 'a'],
      ['team/pc-2', 'b'],
    ],
  );
});

test('a file that is no config is refused, and strange members are no errors', () => {
  for (const file of [undefined, 1, [], {}, { data: {} }, { config: 'no json' }, { model: 'x' }])
    assert.throws(() => importPortkey([file]), /A config of Portkey has one of targets/);
  for (const targets of [[], [null, 1, []], 'none', [{ provider: 7 }], [{ provider: '__proto__' }]] as Json[])
    assert.deepEqual(importPortkey([{ targets, strategy: 'x' }]).config.providers, {});
});

test('the command writes a file without secrets that routes as the config did', async (context) => {
  const { folder, run } = program(context);
  writeFileSync(join(folder, 'config.json'), JSON.stringify(CONFIG));
  const { code, stderr } = await run(['import', 'portkey', 'config.json', '--output', 'new.yaml']);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^not taken over: portkey\.targets\[1\]\.targets\[1\]: its key is in Portkey's vault/m);
  assert.ok(!readFileSync(join(folder, 'new.yaml'), 'utf8').includes('sk-of'));
  const names = ['OPENAI', 'ANTHROPIC', 'ANTHROPIC_TEAM_1A2B', 'GROQ_PROD', 'MISTRAL'];
  const routed = await run(
    ['route', 'portkey', '--config', 'new.yaml'],
    Object.fromEntries(names.map((name) => [`${name}_API_KEY`, 'k'])),
  );
  assert.equal(routed.code, 0, routed.stderr);
  assert.match(routed.stdout, /openai\/gpt-5[\s\S]*anthropic[\s\S]*anthropic[\s\S]*groq\/llama/);
});
