// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the file's own references to the environment

/** `polygate import openrouter`: keys, keys of providers and preferences, from the responses of OpenRouter's API. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { importOpenRouter } from '../../src/cli/import-openrouter.ts';
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
    'data[0].usage': 'what was used already is not taken over: the budget begins anew',
    'data[1] ("ci")': 'its secret is not in the file: put it, or a new one, into the variable CLIENT_KEY_CI',
    'data[2] ("old")': 'is disabled',
    'data[3] ("team-a")': 'its secret is not in the file: put it, or a new one, into the variable CLIENT_KEY_3',
    'data[0]': 'its secret is not in the file: put it into the variable OPENAI_API_KEY',
    'data[1]': 'its secret is not in the file: put it into the variable GOOGLE_API_KEY',
    'data[2] (amazon-bedrock)': 'is of a provider that is not supported',
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
