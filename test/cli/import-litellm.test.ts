// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the file's own references to the environment

/** `polygate import litellm`: what is taken over, what is listed, and a gateway that runs with it. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { importLiteLlm } from '../../src/cli/import-litellm.ts';
import { readYaml } from '../../src/config/yaml-document.ts';
import { program } from './program.ts';

const FILE = `
model_list:
  - model_name: gpt-4o
    litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY, rpm: 480, weight: 3 }
  - model_name: gpt-4o
    litellm_params: { model: openai/gpt-4o, api_key: os.environ/OTHER_KEY, api_base: "https://eu.example.com/v1", order: 2 }
  - model_name: team/claude
    litellm_params: { model: claude-sonnet-5, api_key: sk-ant-secret, input_cost_per_token: 3.0e-06 }
    model_info: { output_cost_per_token: 0.000015 }
  - model_name: "groq/*"
    litellm_params: { model: "groq/*", api_key: os.environ/GROQ_API_KEY }
  - model_name: old
    litellm_params: { model: sagemaker/endpoint }
litellm_settings: { drop_params: true, request_timeout: 600, fallbacks: [{ gpt-4o: [team/claude, gone] }], success_callback: [langfuse] }
router_settings: { routing_strategy: latency-based-routing, model_group_alias: { gpt-4: gpt-4o }, cooldown_time: 30 }
general_settings: { master_key: os.environ/LITELLM_MASTER_KEY, database_url: "postgres://u:p@h/d" }
`;

test('providers, models with endpoints, fallbacks, aliases, prices and routing are taken over', () => {
  const { config } = importLiteLlm(readYaml(FILE).value);
  assert.deepEqual(config, {
    server: { deadlines: { total: '600s' } },
    admin: { token: '${LITELLM_MASTER_KEY}' },
    providers: {
      openai: { api_key: '${OPENAI_API_KEY}' },
      'openai-compatible': {
        api_key: '${OTHER_KEY}',
        base_url: 'https://eu.example.com/v1',
      },
      anthropic: { api_key: '${ANTHROPIC_API_KEY}' },
      groq: { api_key: '${GROQ_API_KEY}', models: 'any' },
    },
    models: {
      'team/gpt-4o': {
        endpoints: [
          { provider: 'openai', model: 'gpt-4o', weight: 3 },
          { provider: 'openai-compatible', model: 'gpt-4o', priority: 2 },
          {
            provider: 'anthropic',
            model: 'claude-sonnet-5',
            pricing: { prompt: '0.000003', completion: '0.000015' },
            priority: 3,
          },
        ],
      },
      'team/claude': {
        endpoints: [
          {
            provider: 'anthropic',
            model: 'claude-sonnet-5',
            pricing: { prompt: '0.000003', completion: '0.000015' },
          },
        ],
      },
    },
    aliases: { 'gpt-4o': 'team/gpt-4o', 'gpt-4': 'team/gpt-4o' },
    routing: { sort: 'latency', cooldown: '30s' },
  });
});

test('everything else is listed with advice', () => {
  const { notes } = importLiteLlm(readYaml(FILE).value);
  assert.deepEqual(Object.fromEntries(notes.map(({ path, advice }) => [path, advice])), {
    'model_list[0].litellm_params.rpm': 'limits belong to keys: limits.requests_per_minute',
    'model_list[2].litellm_params.api_key': 'is a secret in the file: put it into the variable ANTHROPIC_API_KEY',
    'model_list[4].litellm_params.model': '"sagemaker/endpoint" is of a provider that is not supported',
    'litellm_settings.fallbacks': 'names "gone", which is no model_name of the list',
    'litellm_settings.drop_params': 'needs no setting: what a provider does not have is dropped and named in a header',
    'litellm_settings.success_callback': 'telemetry goes to OpenTelemetry: telemetry.otlp',
    'general_settings.database_url': 'set data to a PostgreSQL database of its own; keys and spend are not taken over',
  });
});

test('two keys of one provider become two providers, the same key one', () => {
  const deployment = (name: string, key: string) => ({
    model_name: name,
    litellm_params: { model: `mistral/${name}`, api_key: `os.environ/${key}` },
  });
  const { config } = importLiteLlm({
    model_list: [deployment('a', 'ONE'), deployment('b', 'TWO'), deployment('c', 'ONE')],
  });
  assert.deepEqual(config.providers, {
    mistral: { api_key: '${ONE}' },
    'mistral-2': { type: 'mistral', api_key: '${TWO}' },
  });
  assert.equal(config.models['team/c'].endpoints[0].provider, 'mistral');
});

test('deployments of Azure are models of the v1 API of their resource', () => {
  const deployment = (name: string, params: object) => ({
    model_name: name,
    litellm_params: { model: `azure/${name}`, ...params },
  });
  const { config, notes } = importLiteLlm({
    model_list: [
      deployment('a', {
        api_key: 'os.environ/AZURE_API_KEY',
        api_base: 'https://eu.openai.azure.com/',
        api_version: 'v',
      }),
      deployment('b', {
        api_key: 'os.environ/AZURE_API_KEY',
        api_base: 'https://eu.openai.azure.com/openai/deployments/b',
      }),
      deployment('c', { api_key: 'os.environ/OTHER_KEY', api_base: 'os.environ/AZURE_API_BASE' }),
      deployment('d', { api_key: 'os.environ/OTHER_KEY' }),
    ],
  });
  assert.deepEqual(config.providers, {
    azure: { type: 'openai', api_key: '${AZURE_API_KEY}', base_url: 'https://eu.openai.azure.com/openai/v1' },
    'azure-2': { type: 'openai', api_key: '${OTHER_KEY}', base_url: '${AZURE_API_BASE}/openai/v1' },
  });
  assert.deepEqual(config.models['team/b'].endpoints, [{ provider: 'azure', model: 'b' }]);
  assert.deepEqual(
    notes.map(({ path, advice }) => `${path} ${advice}`),
    [
      'model_list[0].litellm_params.api_version needs no setting: the address of the v1 API has none',
      'model_list[3].litellm_params.model "azure/d" needs an api_base',
    ],
  );
});

test('an empty or strange file gives an empty configuration, not an error', () => {
  for (const file of [undefined, {}, { model_list: 'none' }, { model_list: [null, 1, {}, { model_name: 'x' }] }]) {
    const { config } = importLiteLlm(file);
    assert.deepEqual(config.providers, {});
  }
});

test('the command writes a file that check accepts, without secrets, and keeps an existing one', async (context) => {
  const { folder, run } = program(context);
  writeFileSync(join(folder, 'config.yaml'), FILE);
  const { code, stderr } = await run(['import', 'litellm', 'config.yaml', '--output', 'new.yaml']);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^Wrote new\.yaml\. Check it: polygate check --config new\.yaml\n/);
  assert.match(stderr, /^not taken over: general_settings\.database_url: /m);
  const written = readFileSync(join(folder, 'new.yaml'), 'utf8');
  assert.ok(!written.includes('sk-ant-secret') && !written.includes('u:p@h'));
  const variables = Object.fromEntries(
    ['OPENAI_API_KEY', 'OTHER_KEY', 'ANTHROPIC_API_KEY', 'GROQ_API_KEY'].map((name) => [name, 'k']),
  );
  const token = 'a-token-of-the-admin-api-with-length';
  const routed = await run(['route', 'gpt-4', '--config', 'new.yaml'], { ...variables, LITELLM_MASTER_KEY: token });
  assert.equal(routed.code, 0, routed.stderr);
  assert.match(routed.stdout, /openai\/gpt-4o[\s\S]*openai-compatible\/gpt-4o[\s\S]*anthropic\/claude-sonnet-5/);
  const again = await run(['import', 'litellm', 'config.yaml', '--output', 'new.yaml']);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /new\.yaml exists; --force overwrites it/);
});

test('a file that is no YAML, or is not there, is a message', async (context) => {
  const { folder, run } = program(context);
  writeFileSync(join(folder, 'bad.yaml'), 'a: [\n');
  assert.match((await run(['import', 'litellm', 'bad.yaml'])).stderr, /bad\.yaml:\d+: /);
  const missing = await run(['import', 'litellm', 'gone.yaml', '--output', 'x.yaml']);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /gone\.yaml/);
  assert.ok(!existsSync(join(folder, 'x.yaml')));
});
