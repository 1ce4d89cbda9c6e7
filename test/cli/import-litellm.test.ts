// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the file's own references to the environment

/** `polygate import litellm`: what is taken over, what is listed, and a gateway that runs with it. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { importLiteLlm } from '../../src/cli/import/litellm.ts';
import { parseConfig } from '../../src/config/load.ts';
import { readYaml } from '../../src/config/yaml-document.ts';
import type { Json } from '../../src/core/json/json.ts';
import { providerTypes } from '../../src/providers/index.ts';
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

test('a deployment for requests that have no path is listed', () => {
  const deployment = (model: string, mode: string) => ({
    model_name: model,
    litellm_params: { model: `openai/${model}` },
    model_info: { mode },
  });
  const { notes } = importLiteLlm({
    model_list: [
      deployment('gpt-4o', 'chat'),
      deployment('tts-1', 'audio_speech'),
      deployment('dall-e-3', 'image_generation'),
      deployment('text-embedding-3-small', 'embedding'),
    ],
  });
  assert.deepEqual(notes, [
    { path: 'model_list[1].model_info.mode', advice: 'there is no path for "audio_speech"' },
    { path: 'model_list[2].model_info.mode', advice: 'there is no path for "image_generation"' },
  ]);
});

test('a model and a wildcard of one account are of one provider, in any order', () => {
  const model = { model_name: 'gpt', litellm_params: { model: 'openai/gpt-4o', api_key: 'os.environ/OPENAI_API_KEY' } };
  const any = { model_name: 'openai/*', litellm_params: { model: 'openai/*', api_key: 'os.environ/OPENAI_API_KEY' } };
  const other = { model_name: 'eu', litellm_params: { model: 'openai/gpt-4o', api_key: 'os.environ/OTHER_KEY' } };
  for (const list of [
    [model, any, other],
    [any, model, other],
  ]) {
    const { config, notes } = importLiteLlm({ model_list: list });
    assert.deepEqual(config.providers, {
      openai: { api_key: '${OPENAI_API_KEY}', models: 'any' },
      'openai-2': { type: 'openai', api_key: '${OTHER_KEY}' },
    });
    assert.deepEqual(config.models['team/gpt'].endpoints, [{ provider: 'openai', model: 'gpt-4o' }]);
    assert.deepEqual(notes, []);
  }
});

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

test('deployments at Vertex AI and Bedrock get the address of their project or region', () => {
  const vertex = {
    vertex_project: 'my-project',
    vertex_location: 'global',
    vertex_credentials: 'os.environ/GOOGLE_KEY',
  };
  const keys = { aws_access_key_id: 'os.environ/ID', aws_secret_access_key: 'os.environ/SECRET' };
  const deployments: Record<string, string>[] = [
    { model: 'vertex_ai/gemini-2.5-pro', ...vertex },
    { model: 'vertex_ai/claude-sonnet-4-5@20250929', ...vertex, vertex_location: 'us-east5' },
    { model: 'bedrock/converse/us.anthropic.claude-sonnet-5', aws_region_name: 'us-west-2', ...keys },
    { model: 'bedrock/eu-central-1/anthropic.claude-haiku-4-5-20251001-v1:0' },
    { model: 'bedrock/us.amazon.nova-pro-v1:0' },
    { model: 'vertex_ai/gemini-2.5-flash' },
    { model: 'bedrock/eusc-de-east-1/amazon.nova-lite-v1:0' },
    { model: 'bedrock/arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc' },
  ];
  const list = deployments.map((params, index) => ({ model_name: `m${index}`, litellm_params: params }));
  const { config, notes } = importLiteLlm({ model_list: list });
  assert.deepEqual(config.providers, {
    vertex: {
      base_url: 'https://aiplatform.googleapis.com/v1/projects/my-project/locations/global',
      api_key: '${GOOGLE_KEY}',
    },
    'vertex-2': {
      type: 'vertex',
      base_url: 'https://us-east5-aiplatform.googleapis.com/v1/projects/my-project/locations/us-east5',
      api_key: '${GOOGLE_KEY}',
    },
    bedrock: { base_url: 'https://bedrock-runtime.us-west-2.amazonaws.com', api_key: '${ID}:${SECRET}' },
    'bedrock-2': {
      type: 'bedrock',
      base_url: 'https://bedrock-runtime.eu-central-1.amazonaws.com',
      api_key: '${AWS_BEARER_TOKEN_BEDROCK}',
    },
    'bedrock-3': {
      type: 'bedrock',
      base_url: 'https://bedrock-runtime.${AWS_REGION}.amazonaws.com',
      api_key: '${AWS_BEARER_TOKEN_BEDROCK}',
    },
    'bedrock-4': {
      type: 'bedrock',
      base_url: 'https://bedrock-runtime.eusc-de-east-1.amazonaws.eu',
      api_key: '${AWS_BEARER_TOKEN_BEDROCK}',
    },
  });
  assert.deepEqual(
    Object.values(config.models).flatMap(({ endpoints }: Json) => endpoints),
    [
      { provider: 'vertex', model: 'gemini-2.5-pro' },
      { provider: 'vertex-2', model: 'claude-sonnet-4-5@20250929' },
      { provider: 'bedrock', model: 'us.anthropic.claude-sonnet-5' },
      { provider: 'bedrock-2', model: 'anthropic.claude-haiku-4-5-20251001-v1:0' },
      { provider: 'bedrock-3', model: 'us.amazon.nova-pro-v1:0' },
      { provider: 'bedrock-4', model: 'amazon.nova-lite-v1:0' },
      { provider: 'bedrock-2', model: 'arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc' },
    ],
  );
  const advice = Object.fromEntries(notes.map(({ path, advice: text }) => [path, text]));
  assert.match(
    String(advice['model_list[0].litellm_params.vertex_credentials']),
    /set GOOGLE_KEY_FILE to the JSON file of a key of a service account, or credentials: auto/,
  );
  assert.match(
    String(advice['model_list[3].litellm_params.api_key']),
    /for roles and profiles, set credentials: auto in its place/,
  );
  assert.equal(advice['model_list[4].litellm_params.model'], undefined);
  assert.match(String(advice['model_list[5].litellm_params.vertex_project']), /is missing/);
  assert.match(String(advice['model_list[7].litellm_params.model']), /give the model its base, such as anthropic/);
});

test('clouds of open models are types of their own', () => {
  const names = { nvidia_nim: 'nvidia', vercel_ai_gateway: 'vercel', zai: 'zai', cerebras: 'cerebras' };
  const { config } = importLiteLlm({
    model_list: Object.keys(names).map((name) => ({ model_name: name, litellm_params: { model: `${name}/a/b` } })),
  });
  assert.deepEqual(Object.keys(config.providers), Object.values(names));
  assert.deepEqual(config.models['team/nvidia_nim'].endpoints, [{ provider: 'nvidia', model: 'a/b' }]);
});

test('a wildcard of all providers is told how providers are named', () => {
  const { config, notes } = importLiteLlm({ model_list: [{ model_name: '*', litellm_params: { model: '*' } }] });
  assert.deepEqual(config.providers, {});
  assert.deepEqual(notes, [
    {
      path: 'model_list[0].litellm_params.model',
      advice:
        '"*" names no provider: clients name <provider>/<model id>, and models: any of a provider passes on every id',
    },
  ]);
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
    azure: {
      base_url: 'https://eu.openai.azure.com',
      api_key: '${AZURE_API_KEY}',
      models: [{ id: 'a' }, { id: 'b' }],
    },
    'azure-2': {
      type: 'azure',
      base_url: '${AZURE_API_BASE}',
      api_key: '${OTHER_KEY}',
      models: [{ id: 'c' }],
    },
  });
  assert.deepEqual(config.models['team/b'].endpoints, [{ provider: 'azure', model: 'b' }]);
  assert.deepEqual(
    notes.map(({ path, advice }) => `${path} ${advice}`),
    [
      'model_list[0].litellm_params.api_version is not needed: the v1 API is asked, which has no versions',
      'model_list[3].litellm_params.model "azure/d" needs an api_base',
    ],
  );
});

test('a deployment of Azure has the model that LiteLLM knows it by as its base', () => {
  const azure = { api_base: 'https://eu.openai.azure.com', api_key: 'os.environ/AZURE_API_KEY' };
  const foundry = {
    api_base: 'https://f.services.ai.azure.com/anthropic/v1/messages',
    api_key: 'os.environ/FOUNDRY_KEY',
  };
  const model_list = [
    { model_name: 'a', litellm_params: { model: 'azure/prod', ...azure }, model_info: { base_model: 'azure/gpt-4o' } },
    { model_name: 'b', litellm_params: { model: 'azure/o_series/o3', ...azure } },
    { model_name: 'c', litellm_params: { model: 'azure/x', ...azure }, model_info: { base_model: 'azure/dall-e-9' } },
    { model_name: 'd', litellm_params: { model: 'azure_ai/claude-sonnet-4-5', ...foundry } },
    {
      model_name: 'e',
      litellm_params: { model: 'azure_ai/claude/opus', ...foundry },
      model_info: { base_model: 'claude-opus-4-5' },
    },
    { model_name: 'f', litellm_params: { model: 'azure/*', ...azure, api_key: 'os.environ/ANY_KEY' } },
  ];
  const { config, notes } = importLiteLlm({ model_list });
  assert.deepEqual(config.providers, {
    azure: {
      base_url: 'https://eu.openai.azure.com',
      api_key: '${AZURE_API_KEY}',
      models: [{ id: 'prod', base: 'openai/gpt-4o' }, { id: 'o3', base: 'openai/o3' }, { id: 'x' }],
    },
    'azure-2': {
      type: 'azure',
      base_url: 'https://f.services.ai.azure.com',
      api_key: '${FOUNDRY_KEY}',
      models: [
        { id: 'claude-sonnet-4-5', base: 'anthropic/claude-sonnet-4-5' },
        { id: 'opus', base: 'anthropic/claude-opus-4-5' },
      ],
    },
    'azure-3': { type: 'azure', base_url: 'https://eu.openai.azure.com', api_key: '${ANY_KEY}', models: 'any' },
  });
  assert.deepEqual(
    notes.map(({ path }) => path),
    ['model_list[2].model_info.base_model', 'model_list[5].model_name'],
  );
  assert.deepEqual(config.models['team/e'].endpoints, [{ provider: 'azure-2', model: 'opus' }]);
});

test('addresses of Azure: a gateway in front of it keeps its path and its version, an endpoint of one model is a server of its own', () => {
  const front = 'https://apim.example.com/llm';
  const { config, notes } = importLiteLlm({
    model_list: [
      { model_name: 'a', litellm_params: { model: 'azure/a', api_base: front, api_version: '2024-10-21' } },
      { model_name: 'b', litellm_params: { model: 'azure/b', api_base: `${front}?api-version=2024-10-21` } },
      {
        model_name: 'c',
        litellm_params: { model: 'azure/c', api_base: 'https://gov.openai.azure.us', tenant_id: 't' },
      },
      {
        model_name: 'd',
        litellm_params: { model: 'azure_ai/mistral', api_base: 'https://m.eastus2.models.ai.azure.com/v1/' },
      },
    ],
  });
  assert.deepEqual(config.providers, {
    azure: {
      base_url: front,
      api_key: '${AZURE_API_KEY}',
      api_version: '2024-10-21',
      models: [{ id: 'a' }, { id: 'b' }],
    },
    'azure-2': {
      type: 'azure',
      base_url: 'https://gov.openai.azure.us',
      api_key: '${AZURE_API_KEY}',
      models: [{ id: 'c' }],
    },
    'openai-compatible': { base_url: 'https://m.eastus2.models.ai.azure.com/v1', api_key: '${AZURE_AI_API_KEY}' },
  });
  assert.deepEqual(
    notes.map(({ path, advice }) => `${path} ${advice}`),
    ['model_list[2].litellm_params.tenant_id for an identity of Microsoft Entra, set credentials in place of api_key'],
  );
});

test('the address of an Ollama server is that of its /v1', () => {
  const addressOf = (address: string | undefined) => {
    const params = { model: 'ollama_chat/llama3', ...(address !== undefined && { api_base: address }) };
    const { config } = importLiteLlm({ model_list: [{ model_name: 'a', litellm_params: params }] });
    return config.providers.ollama.base_url;
  };
  assert.equal(addressOf('http://localhost:11434'), 'http://localhost:11434/v1');
  assert.equal(addressOf('http://localhost:11434/'), 'http://localhost:11434/v1');
  assert.equal(addressOf('http://localhost:11434/v1'), 'http://localhost:11434/v1');
  assert.equal(addressOf('os.environ/OLLAMA_API_BASE'), '${OLLAMA_API_BASE}/v1');
  assert.equal(addressOf(undefined), undefined);
});

test('groups whose names here would be the same keep their endpoints, each under a name of its own', () => {
  const deployment = (group: string, model: string) => ({ model_name: group, litellm_params: { model } });
  const { config } = importLiteLlm({
    model_list: [
      deployment('same', 'openai/one'),
      deployment('team/same', 'openai/two'),
      deployment('my same', 'openai/three'),
      deployment('my-same', 'openai/four'),
    ],
  });
  const asked = (name: string) => config.models[config.aliases[name] ?? name].endpoints.map(({ model }: Json) => model);
  assert.deepEqual(['same', 'team/same', 'my same', 'my-same'].map(asked), [['one'], ['two'], ['three'], ['four']]);
});

test('a deployment of weight 0 gets no requests, so it is no endpoint', () => {
  const deployment = (model: string, weight: number) => ({ model_name: 'a', litellm_params: { model, weight } });
  const { config, notes } = importLiteLlm({ model_list: [deployment('openai/x', 1), deployment('openai/y', 0)] });
  assert.deepEqual(config.models['team/a'].endpoints, [{ provider: 'openai', model: 'x', weight: 1 }]);
  assert.deepEqual(
    notes.map(({ path }) => path),
    ['model_list[1].litellm_params.weight'],
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

test('a setting that cannot be taken over is listed, and does not end the import', async (context) => {
  const { folder, run } = program(context);
  const file = join(folder, 'config.yaml');
  writeFileSync(
    file,
    `
model_list:
  - model_name: pictures
    litellm_params: { model: azure/, api_base: "https://eu.example.com/", api_key: os.environ/AZURE_API_KEY }
  - model_name: near
    litellm_params: { model: ollama/llama3.2, api_base: "localhost:11434" }
  - model_name: resource
    litellm_params: { model: azure/gpt-4o, api_base: eu.openai.azure.com, api_key: os.environ/AZURE_API_KEY }
  - model_name: both
    litellm_params: { model: gpt-4o, api_key: null, api_base: "", order: -1, weight: "2" }
  - model_name: vectors
    litellm_params: { model: text-embedding-3-small, api_key: os.environ/OPENAI_API_KEY, input_cost_per_token: 2.0e-08 }
  - model_name: "claude-*"
    litellm_params: { model: "anthropic/claude-*" }
router_settings: { timeout: 10800, cooldown_time: 86400 }
litellm_settings: { request_timeout: 1000000 }
`,
  );
  const { code, stdout, stderr } = await run(['import', 'litellm', file]);
  assert.equal(code, 0, stderr);
  const { server, providers, models, routing } = readYaml(stdout).value;
  assert.equal(server, undefined);
  assert.deepEqual(routing, { cooldown: '1440m' });
  assert.deepEqual(providers, {
    openai: { api_key: '${OPENAI_API_KEY}' },
    anthropic: { models: 'any' },
  });
  assert.deepEqual(models, {
    'team/both': { endpoints: [{ provider: 'openai', model: 'gpt-4o', weight: 2 }] },
    'team/vectors': { endpoints: [{ provider: 'openai', model: 'text-embedding-3-small' }] },
  });
  assert.deepEqual(stderr.trimEnd().split('\n'), [
    'not taken over: model_list[0].litellm_params.model: "azure/" names no model',
    'not taken over: model_list[1].litellm_params.api_base: is no http:// or https:// URL without a query',
    'not taken over: model_list[2].litellm_params.api_base: is no http:// or https:// URL without a query',
    'not taken over: model_list[3].litellm_params.order: must be an integer of at least 0',
    'not taken over: model_list[4].litellm_params.input_cost_per_token: pricing needs the price of input and that of output',
    'not taken over: model_list[5].model_name: models of "anthropic" are named anthropic/<model id>',
    'not taken over: litellm_settings.request_timeout: "1000000" is no number of seconds up to 99 hours',
    'not taken over: router_settings.timeout: litellm_settings.request_timeout comes before it',
  ]);
});

test('each secret in the file gets a variable of its own, which no other deployment means', () => {
  const list = [
    { model: 'openai/gpt-4o', api_key: 'sk-one' },
    { model: 'openai/gpt-4o', api_key: 'sk-two' },
    { model: 'openai/gpt-4o', api_key: 'sk-one' },
    { model: 'openai/gpt-4o' },
    { model: 'groq/llama', api_key: 'gsk-one' },
    { model: 'groq/llama', api_key: 'os.environ/GROQ_API_KEY' },
    { model: 'azure/gpt-4o', api_base: 'https://a.openai.azure.com', api_key: 'az-one' },
    { model: 'azure/gpt-4o', api_base: 'https://b.openai.azure.com', api_key: 'az-two' },
    { model: 'bedrock/m', aws_region_name: 'eu-west-1', aws_access_key_id: 'A', aws_secret_access_key: 'S' },
    { model: 'bedrock/m', aws_region_name: 'eu-west-1', aws_access_key_id: 'B', aws_secret_access_key: 'T' },
  ];
  const { config, notes } = importLiteLlm({
    model_list: list.map((litellm_params) => ({ model_name: 'm', litellm_params })),
    general_settings: { master_key: 'sk-master' },
  });
  const keys = Object.fromEntries(Object.entries<Json>(config.providers).map(([id, { api_key }]) => [id, api_key]));
  assert.deepEqual(keys, {
    openai: '${OPENAI_API_KEY_2}',
    'openai-2': '${OPENAI_API_KEY_3}',
    'openai-3': '${OPENAI_API_KEY}',
    groq: '${GROQ_API_KEY_2}',
    'groq-2': '${GROQ_API_KEY}',
    azure: '${AZURE_API_KEY}',
    'azure-2': '${AZURE_API_KEY_2}',
    bedrock: '${AWS_ACCESS_KEY_ID}:${AWS_SECRET_ACCESS_KEY}',
    'bedrock-2': '${AWS_ACCESS_KEY_ID_2}:${AWS_SECRET_ACCESS_KEY_2}',
  });
  const advice = new Map(notes.map((note) => [note.path, note.advice]));
  for (const [index, name] of ['OPENAI_API_KEY_2', 'OPENAI_API_KEY_3', 'OPENAI_API_KEY_2'].entries())
    assert.match(advice.get(`model_list[${index}].litellm_params.api_key`) ?? '', new RegExp(`the variable ${name}$`));
});

test('deployments without a key are of the account of the usual variable, a server without keys has none', () => {
  const params = [{ model: 'gpt-4o' }, { model: 'openai/*', api_key: 'os.environ/OPENAI_API_KEY' }];
  for (const list of [params, params.toReversed()]) {
    const model_list = list.map((litellm_params) => ({ model_name: 'openai/*', litellm_params }));
    const { providers } = importLiteLlm({ model_list }).config;
    assert.deepEqual(providers, { openai: { api_key: '${OPENAI_API_KEY}', models: 'any' } });
  }
  const { config } = importLiteLlm({
    model_list: [
      { model_name: 'a', litellm_params: { model: 'openai/gpt-4o', api_key: 'os.environ/A' } },
      { model_name: 'a', litellm_params: { model: 'openai/gpt-4o' } },
      { model_name: 'b', litellm_params: { model: 'ollama/llama3', api_base: 'http://a.test' } },
      { model_name: 'b', litellm_params: { model: 'ollama/llama3' } },
    ],
  });
  assert.deepEqual(config.providers['openai-2'], { type: 'openai', api_key: '${OPENAI_API_KEY}' });
  assert.deepEqual(config.providers['ollama-2'], { type: 'ollama' });
});

test('what is of another form than LiteLLM has it is listed by name', () => {
  const gpt = { model: 'openai/gpt-4o', api_key: 'os.environ/A' };
  const azure = {
    model: 'azure/gpt-4o',
    api_key: 'os.environ/A',
    api_base: 'https://r.openai.azure.com/?token=SECRET',
  };
  const cases: [file: Json, ...paths: string[]][] = [
    [undefined, 'the file'],
    ['text', 'the file'],
    [{ model_list: { a: gpt } }, 'model_list'],
    [
      { litellm_settings: [1], router_settings: 'x', general_settings: 5 },
      'litellm_settings',
      'router_settings',
      'general_settings',
    ],
    [{ litellm_settings: { fallbacks: { a: ['b'] } } }, 'litellm_settings.fallbacks'],
    [
      { router_settings: { fallbacks: [5], model_group_alias: ['a'] } },
      'router_settings.fallbacks',
      'router_settings.model_group_alias',
    ],
    [{ model_list: [{ model_name: ' ', litellm_params: gpt }] }, 'model_list[0]'],
    [
      { model_list: [{ model_name: 'a', litellm_params: { ...gpt, weight: -1 } }] },
      'model_list[0].litellm_params.weight',
    ],
    [
      { model_list: [{ model_name: 'a', litellm_params: { ...gpt, weight: Number.POSITIVE_INFINITY } }] },
      'model_list[0].litellm_params.weight',
    ],
    [
      {
        model_list: [
          { model_name: 'a', litellm_params: { ...gpt, input_cost_per_token: 1e30, output_cost_per_token: 0 } },
        ],
      },
      'model_list[0].litellm_params.input_cost_per_token',
      'model_list[0].litellm_params.output_cost_per_token',
    ],
    [
      { model_list: [{ model_name: 'a', litellm_params: gpt, tpm: 5, model_info: { id: 'x', access_groups: ['b'] } }] },
      'model_list[0].tpm',
      'model_list[0].model_info.access_groups',
    ],
    [
      { model_list: [{ model_name: 'a', litellm_params: { ...azure, client_secret: 'SECRET' } }] },
      'model_list[0].litellm_params.api_base',
      'model_list[0].litellm_params.client_secret',
    ],
  ];
  for (const [file, ...paths] of cases) {
    const { config, notes } = importLiteLlm(file);
    assert.deepEqual(
      notes.map(({ path }) => path),
      paths,
    );
    assert.doesNotThrow(() => parseConfig(JSON.stringify(config), { environment: { A: 'key' }, known: providerTypes }));
    assert.ok(!JSON.stringify([config, notes]).includes('SECRET'));
  }
});

test('a fallback that a group has already is not added again, and aliases may have any name', () => {
  const deployment = (name: string) => ({ model_name: name, litellm_params: { model: `openai/${name}` } });
  const { config } = importLiteLlm({
    model_list: [deployment('a'), deployment('b')],
    litellm_settings: { fallbacks: [{ a: ['b', 'a'] }] },
    router_settings: { fallbacks: [{ a: ['b'] }, { b: ['a'] }], model_group_alias: { ['__proto__']: 'a' } },
  });
  const models = (name: string) => config.models[name].endpoints.map(({ model }: Json) => model);
  assert.deepEqual(
    [models('team/a'), models('team/b')],
    [
      ['a', 'b'],
      ['b', 'a'],
    ],
  );
  assert.deepEqual(Object.entries(config.aliases).at(-1), ['__proto__', 'team/a']);
});

test('default fallbacks are models to try when any other fails', () => {
  const deployment = (name: string) => ({ model_name: name, litellm_params: { model: `openai/${name}` } });
  const model_list = ['gpt-4o', 'gpt-5'].map(deployment);
  const both = importLiteLlm({
    model_list,
    litellm_settings: { default_fallbacks: ['gpt-4o'] },
    router_settings: { default_fallbacks: ['gpt-5', 'gone', 'gpt-5'] },
  });
  assert.deepEqual(both.config.routing, { fallback_models: ['team/gpt-5'] });
  assert.deepEqual(both.notes, [
    {
      path: 'litellm_settings.default_fallbacks',
      advice: 'router_settings.default_fallbacks comes before it',
    },
    { path: 'router_settings.default_fallbacks', advice: 'names "gone", which is no model_name of the list' },
  ]);
  const ofRouter = importLiteLlm({ model_list, router_settings: { default_fallbacks: ['gpt-4o'] } });
  assert.deepEqual([ofRouter.config.routing, ofRouter.notes], [{ fallback_models: ['team/gpt-4o'] }, []]);
  const ofRequests = importLiteLlm({
    model_list,
    litellm_settings: { default_fallbacks: ['gpt-5'] },
    router_settings: { default_fallbacks: [] },
  });
  assert.deepEqual([ofRequests.config.routing, ofRequests.notes], [{ fallback_models: ['team/gpt-5'] }, []]);
  const wrong = importLiteLlm({ model_list, litellm_settings: { default_fallbacks: 'gpt-5' } });
  assert.equal(wrong.config.routing, undefined);
  assert.deepEqual(wrong.notes, [{ path: 'litellm_settings.default_fallbacks', advice: 'is no list of groups' }]);
});

test('settings that are needed no more, or stand elsewhere, are listed with what to do', () => {
  const { notes } = importLiteLlm({
    litellm_settings: { cache: true, max_budget: 100, turn_off_message_logging: true },
    router_settings: { redis_host: 'h', allowed_fails: 3 },
    general_settings: { alerting: ['slack'] },
  });
  assert.deepEqual(
    notes.map(({ advice }) => advice),
    [
      'answers are not cached; caches of providers are used',
      'budgets belong to keys and tags: budgets',
      'needs no setting: messages are not logged',
      'needs no setting: gateways on one PostgreSQL database share limits and budgets',
      'which failures lead to the next endpoint is fixed: docs/reliability.md',
      'budgets that run out and the like are told to a webhook: notices.webhook',
    ],
  );
});

test('settings of any name are listed with words', () => {
  const { notes } = importLiteLlm({
    model_list: [{ model_name: 'a', litellm_params: { model: 'openai/a', constructor: 1 } }],
    general_settings: { toString: 1 },
    valueOf: 1,
  });
  const places = ['model_list[0].litellm_params.constructor', 'general_settings.toString', 'valueOf'];
  assert.deepEqual(
    notes,
    places.map((path) => ({ path, advice: 'has no equal' })),
  );
});

test('hostile files are refused or listed in bounded time, and no text of theirs reaches the terminal as a command', async (context) => {
  const { folder, run } = program(context);
  const imported = async (bytes: string | Buffer) => {
    writeFileSync(join(folder, 'file.yaml'), bytes);
    return run(['import', 'litellm', 'file.yaml']);
  };
  const levels = Array.from(
    { length: 9 },
    (_, index) => `a${index + 1}: &a${index + 1} [${Array(10).fill(`*a${index}`)}]`,
  );
  const refused: [bytes: string | Buffer, message: RegExp][] = [
    ['a: &a\n  model_list: *a\n', /^file\.yaml:1: has aliases that stand for too many values\n$/],
    [`a0: &a0 [x]\n${levels.join('\n')}\n`, /^file\.yaml:1: has aliases that stand for too many values\n$/],
    ['model_list: !!python/object/apply:os.system ["id"]', /^file\.yaml:1: unknown/],
    [
      Buffer.from('model_list: [{ model_name: caf\u00e9 }]', 'latin1'),
      /^file\.yaml: is no text in UTF-8; save it as such\.\n$/,
    ],
    [Buffer.from('\ufeffmodel_list: []', 'utf16le'), /^file\.yaml: is no text in UTF-8/],
  ];
  for (const [bytes, message] of refused) {
    const { code, stdout, stderr } = await imported(bytes);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, message);
  }
  const { code, stdout, stderr } = await imported(
    '\ufeffmodel_list:\r\n  - model_name: a\r\n    litellm_params: { model: openai/gpt-4o }\r\n"evil\\e[2J\\nx": 1\r\n',
  );
  assert.equal(code, 0);
  assert.deepEqual(readYaml(stdout).value.models, {
    'team/a': { endpoints: [{ provider: 'openai', model: 'gpt-4o' }] },
  });
  assert.equal(stderr, 'not taken over: evil?[2J x: has no equal\n');
  assert.match((await imported(`${'x'.repeat(5000)}: 1`)).stderr, /^not taken over: x{484}…\n$/);
  assert.match((await run(['import', 'litellm', '.'])).stderr, /^\.: is a folder, not a file\n$/);
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
