// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the file's own references to the environment

/** `polygate import openrouter`: keys, keys of providers and preferences, from the responses of OpenRouter's API. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { importOpenRouter } from '../../src/cli/import/openrouter.ts';
import { parseConfig } from '../../src/config/load.ts';
import type { Json } from '../../src/core/json/json.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { program } from './program.ts';

const KEYS = {
  data: [
    {
      hash: 'h1',
      label: 'sk-or-v1-0e6...1c9',
      name: 'Team A',
      disabled: false,
      limit: 25,
      limit_reset: 'monthly',
      usage: 3.5,
      expires_at: null,
    },
    {
      hash: 'h2',
      label: 'sk-or-v1-1aa...2bb',
      name: 'ci',
      disabled: false,
      limit: 1.5,
      limit_reset: null,
      usage: 0,
      expires_at: '2030-01-31T00:00:00Z',
    },
    { hash: 'h3', label: 'sk-or-v1-3cc...4dd', name: 'old', disabled: true, limit: null, limit_reset: null, usage: 9 },
    {
      hash: 'h4',
      label: 'sk-or-v1-5ee...6ff',
      name: 'team-a',
      disabled: false,
      limit: null,
      limit_reset: null,
      usage: 1,
    },
  ],
};
const PROVIDER_KEYS = {
  data: [
    { id: 'b1', provider: 'openai', label: 'sk-...', disabled: false, is_fallback: false, sort_order: 0 },
    { id: 'b2', provider: 'google-ai-studio', label: 'AI...', disabled: false, is_fallback: true, sort_order: 1 },
    { id: 'b3', provider: 'amazon-bedrock', label: 'AK...', disabled: false, is_fallback: false, sort_order: 2 },
    { id: 'b4', provider: 'openai', label: 'sk-2', disabled: false, is_fallback: false, sort_order: 3 },
  ],
};
const PRESET = {
  data: {
    slug: 'fast',
    designated_version: {
      config: {
        model: 'openai/gpt-5',
        models: ['anthropic/claude-sonnet-5'],
        provider: { sort: 'latency', order: ['azure'], zdr: true },
      },
    },
  },
};
const GUARDRAILS = {
  data: [{ id: 'g', name: 'careful', allowed_models: ['openai/gpt-5'], allowed_providers: ['openai'], limit_usd: 10 }],
};

test('keys, keys of providers and preferences are taken over', () => {
  assert.deepEqual(importOpenRouter([KEYS, PROVIDER_KEYS, PRESET, GUARDRAILS]).config, {
    keys: [
      { name: 'Team A', key: '${CLIENT_KEY_TEAM_A}', budgets: { month: '25.00' } },
      { name: 'ci', key: '${CLIENT_KEY_CI}', expires: '2030-01-31T00:00:00Z', budgets: { total: '1.50' } },
      { name: 'team-a', key: '${CLIENT_KEY_3}' },
    ],
    providers: {
      openrouter: { api_key: '${OPENROUTER_API_KEY}' },
      openai: { api_key: '${OPENAI_API_KEY}' },
      google: { api_key: '${GOOGLE_API_KEY}' },
    },
    default_model: 'openrouter/openai/gpt-5',
    routing: { fallback_models: ['openrouter/anthropic/claude-sonnet-5'], sort: 'latency' },
  });
});

test('everything else is listed with advice', () => {
  const { notes } = importOpenRouter([KEYS, PROVIDER_KEYS, PRESET, GUARDRAILS]);
  assert.deepEqual(Object.fromEntries(notes.map(({ path, advice }) => [path, advice])), {
    'data[0] ("Team A")': 'its secret is not in the file: put it, or a new one, into the variable CLIENT_KEY_TEAM_A',
    'data[0].usage': 'the use so far is not taken over: the budget begins at zero',
    'data[1] ("ci")': 'its secret is not in the file: put it, or a new one, into the variable CLIENT_KEY_CI',
    'data[2] ("old")': 'is disabled',
    'data[3] ("team-a")': 'its secret is not in the file: put it, or a new one, into the variable CLIENT_KEY_3',
    'data[0]': 'its secret is not in the file: put it into the variable OPENAI_API_KEY',
    'data[1]': 'its secret is not in the file: put it into the variable GOOGLE_API_KEY',
    'data[2] (amazon-bedrock)': 'needs an address: write a provider of type bedrock (docs/providers.md)',
    'data[3] (openai)': 'is one more key: providers.openai.api_keys has several',
    'data[0].designated_version.config.provider.order':
      'has no default here: the same object in a request means the same',
    'data[0].designated_version.config.provider.zdr':
      'has no default here: the same object in a request means the same',
    'data[0] ("careful").allowed_models': 'belongs to keys: polygate keys update --models',
    'data[0] ("careful").allowed_providers': 'connect only these providers, or limit the models of keys',
    'data[0] ("careful").limit_usd': 'belongs to keys: polygate keys update --budget',
  });
});

test('keys of clouds of open models are taken over', () => {
  const names = { 'z-ai': 'zai', cerebras: 'cerebras', novita: 'novita' };
  const { config } = importOpenRouter([
    {
      data: Object.keys(names).map((provider, index) => ({
        id: `b${index}`,
        provider,
        label: 'x',
        is_fallback: false,
      })),
    },
  ]);
  assert.deepEqual(Object.keys(config.providers), ['openrouter', ...Object.values(names)]);
});

test('a key without a name has its label, or its hash', () => {
  const { config } = importOpenRouter([
    {
      data: [
        { hash: 'h1', name: '', label: 'sk-or-v1-abc...def' },
        { hash: 'h2', name: '', label: '' },
      ],
    },
  ]);
  assert.deepEqual(
    config.keys.map(({ name }: { name: string }) => name),
    ['sk-or-v1-abc...def', 'h2'],
  );
});

test('keys of any names, limits and times give keys that the configuration takes', () => {
  const key = (name: unknown, settings = {}) => ({ hash: 'h', label: 'l', name, ...settings });
  const { config, notes } = importOpenRouter([
    {
      data: [
        ...['a', 'a 2', 'a', '2', ' ', 'x'.repeat(300), 5].map((name) => key(name)),
        key('off', { disabled: 'true' }),
        ...[25, '1e3', 0.001].map((limit) => key(`limit ${limit}`, { limit })),
        ...[-5, 'abc', '', 1e9, true, [5]].map((limit) => key(`no limit ${limit}`, { limit })),
        key('yearly', { limit: 1, limit_reset: 'yearly' }),
        ...['2030-01-31T00:00:00', '2030-01-31 12:00:00', 'soon', 1700000000, '2030-02-30'].map((expires_at) =>
          key(`until ${expires_at}`, { expires_at }),
        ),
      ],
      total_count: 250,
    },
  ]);
  const names = [...config.keys.map(({ key }: Json) => key.slice(2, -1)), 'OPENROUTER_API_KEY'];
  assert.equal(new Set(names).size, names.length);
  const environment = Object.fromEntries(names.map((name) => [name, `a-value-of-sufficient-length-${name}`]));
  assert.doesNotThrow(() => parseConfig(JSON.stringify(config), { environment, known: providerTypes }));
  const of = (start: string) => config.keys.filter(({ name }: Json) => name.startsWith(start));
  assert.deepEqual(
    of('limit').map(({ budgets }: Json) => budgets.total),
    ['25.00', '1000.00', '0.001'],
  );
  assert.ok(of('no limit').every(({ budgets }: Json) => budgets === undefined));
  assert.deepEqual(
    of('until').map(({ expires }: Json) => expires),
    ['2030-01-31T00:00:00.000Z', '2030-01-31T12:00:00.000Z', undefined, undefined, undefined],
  );
  const listed = notes.map(({ path }) => path);
  for (let index = 11; index < 17; index++) assert.ok(listed.includes(`data[${index}].limit`), `${index}`);
  for (const path of ['total_count', 'data[2].name', 'data[5].name', 'data[7] ("off")', 'data[17].limit_reset'])
    assert.ok(listed.includes(path), path);
  for (let index = 20; index < 23; index++) assert.ok(listed.includes(`data[${index}].expires_at`), `${index}`);
});

test('keys as the SDKs of OpenRouter write them keep their limits and times', () => {
  const key = { hash: 'h', name: 'sdk', limit: 5, limitReset: 'daily', expiresAt: '2030-01-31T00:00:00Z' };
  assert.deepEqual(importOpenRouter([{ data: [key] }]).config.keys, [
    { name: 'sdk', key: '${CLIENT_KEY_SDK}', expires: '2030-01-31T00:00:00Z', budgets: { day: '5.00' } },
  ]);
});

test('settings of guardrails, keys of providers and presets that have no equal are listed, none that is not set', () => {
  const guardrail = {
    id: 'g',
    name: 'g',
    limit_usd: null,
    enforce_zdr: true,
    ignored_models: ['x'],
    reset_interval: 'daily',
  };
  const byok = { id: 'b', provider: 'openai', is_fallback: false, allowed_models: ['x'], disabled: false };
  const version = (config: Json) => ({
    data: { slug: 's', designated_version: { config, system_prompt: 'Be brief.' } },
  });
  const first = version({ model: 'a/b', models: ['c/d', 5], temperature: 0, provider: { sort: 'price', only: null } });
  const second = version({ model: 'e/f', models: ['g/h'], provider: { sort: 'latency' } });
  const { config, notes } = importOpenRouter([[guardrail, byok], first, second, { model: '', models: 'x' }]);
  assert.deepEqual(
    [config.default_model, config.routing],
    ['openrouter/a/b', { fallback_models: ['openrouter/c/d'], sort: 'price' }],
  );
  const at = 'data[0].designated_version';
  assert.deepEqual(
    notes.map(({ path }) => path),
    [
      ...['data[0] ("g").enforce_zdr', 'data[0] ("g").ignored_models', 'data[0] ("g").reset_interval'],
      ...['data[1]', 'data[1].allowed_models'],
      ...[`${at}.system_prompt`, `${at}.config.temperature`, `${at}.config.models`],
      ...[`${at}.system_prompt`, `${at}.config.model`, `${at}.config.models`, `${at}.config.provider.sort`],
      ...['model', 'models'],
    ],
  );
});

test('without files there is the provider alone; a file of something else is refused', () => {
  assert.deepEqual(importOpenRouter([]).config, { providers: { openrouter: { api_key: '${OPENROUTER_API_KEY}' } } });
  for (const file of [{}, undefined, { data: [{}] }, { data: [1] }, []])
    assert.throws(() => importOpenRouter([file]), /The file is none of/);
});

test('the command writes a file by which a client keeps its key', async (context) => {
  const { folder, run } = program(context);
  writeFileSync(join(folder, 'keys.json'), JSON.stringify(KEYS));
  writeFileSync(join(folder, 'preset.json'), JSON.stringify(PRESET));
  const { code, stderr } = await run(['import', 'openrouter', 'keys.json', 'preset.json', '--output', 'new.yaml']);
  assert.equal(code, 0, stderr);
  assert.match(readFileSync(join(folder, 'new.yaml'), 'utf8'), /key: \$\{CLIENT_KEY_TEAM_A\}/);
  const variables = Object.fromEntries(
    ['TEAM_A', 'CI', '3'].map((name) => [`CLIENT_KEY_${name}`, `sk-or-v1-${name}-0123456789abcdef`]),
  );
  const checked = await run(['check', '--config', 'new.yaml'], { ...variables });
  assert.equal(checked.code, 0, checked.stderr);
  assert.match(checked.stdout, /Team A/);
});
