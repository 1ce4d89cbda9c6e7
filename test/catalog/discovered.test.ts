/** Upstreams list their models in many shapes; all become catalog models. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costOf } from '../../src/catalog/cost.ts';
import { discoveredModels } from '../../src/catalog/discovered.ts';

function only(provider: string, body: unknown, vendor?: string) {
  const models = discoveredModels(provider, body, vendor);
  assert.equal(models.length, 1);
  const [model] = models;
  assert.ok(model);
  return model;
}

test('a plain list', () => {
  const model = only('local', {
    object: 'list',
    data: [{ id: 'org/m', object: 'model', created: 1_700_000_000, owned_by: 'org' }],
  });
  assert.deepEqual(
    [model.id, model.upstreamId, model.created, model.ownedBy],
    ['local/org/m', 'org/m', 1_700_000_000, 'org'],
  );
  assert.deepEqual(model.rules, {}, 'nothing is known, so the newest rules hold');
});

test('vLLM tells the context', () => {
  const model = only('vllm', {
    data: [{ id: 'm', object: 'model', owned_by: 'vllm', root: 'm', max_model_len: 32768 }],
  });
  assert.equal(model.contextLength, 32768);
});

test('Ollama', () => {
  const model = only('ollama', {
    object: 'list',
    data: [{ id: 'llama3.2:3b', object: 'model', created: 1_727_000_000, owned_by: 'library' }],
  });
  assert.equal(model.id, 'ollama/llama3.2:3b');
});

test('OpenRouter', () => {
  const model = only('router', {
    data: [
      {
        id: 'v/new',
        canonical_slug: 'v/new-20260101',
        name: 'V: New',
        created: 1_767_225_600,
        description: 'not ours',
        context_length: 1000,
        architecture: {
          input_modalities: ['text', 'file'],
          output_modalities: ['text'],
          tokenizer: 'Qwen3',
          instruct_type: null,
        },
        pricing: {
          prompt: '0.000001',
          completion: '0.000002',
          overrides: [{ min_prompt_tokens: 500, prompt: '0.000003' }],
        },
        top_provider: { max_completion_tokens: 100, is_moderated: true },
        supported_parameters: ['tools', 'max_tokens'],
        expiration_date: '2027-05-05',
      },
    ],
  });
  assert.equal(model.canonicalSlug, 'router/v/new-20260101');
  assert.deepEqual(model.pricing, { prompt: '0.000001', completion: '0.000002' });
  assert.deepEqual(model.priceTiers, [{ minPromptTokens: 500, pricing: { prompt: '0.000003' } }]);
  assert.deepEqual(model.supportedParameters, ['tools', 'max_tokens']);
  assert.deepEqual([model.maxOutput, model.isModerated, model.tokenizer], [100, true, 'Qwen3']);
  assert.equal(model.expirationDate, '2027-05-05');
  assert.equal(
    model.description,
    'V: New reads text and files and writes text in a context of 1,000 tokens. It can call tools.',
  );
});

test('Together: a bare array, prices per million tokens', () => {
  const [model, embedding, ...others] = discoveredModels('together', [
    {
      id: 'a/chat',
      type: 'chat',
      display_name: 'A Chat',
      organization: 'A',
      context_length: 131072,
      pricing: { hourly: 0, input: 0.18, output: 0.59, base: 0 },
    },
    { id: 'a/embed', type: 'embedding', context_length: 512, pricing: { input: 0.01, output: 0 } },
    { id: 'a/paint', type: 'image' },
  ]);
  assert.deepEqual(others, [], 'what paints is left out');
  assert.deepEqual(embedding?.outputModalities, ['embeddings']);
  assert.deepEqual([model?.name, model?.ownedBy], ['A Chat', 'A']);
  assert.deepEqual(model?.pricing, { prompt: '0.00000018', completion: '0.00000059' });
});

test('DeepInfra: limits and prices per million tokens are in the metadata', () => {
  const metadata = {
    context_length: 163840,
    max_tokens: 16384,
    pricing: { input_tokens: 0.27, output_tokens: 0.4, cache_read_tokens: 0.13 },
  };
  const model = only('deepinfra', { data: [{ id: 'a/chat', object: 'model', owned_by: 'deepinfra', metadata }] });
  assert.deepEqual([model.contextLength, model.maxOutput], [163840, 16384]);
  assert.deepEqual(model.pricing, { prompt: '0.00000027', completion: '0.0000004', input_cache_read: '0.00000013' });
});

test('Vercel: prices per token by other names', () => {
  const model = only('vercel', {
    data: [
      {
        id: 'v/new',
        type: 'language',
        owned_by: 'v',
        context_window: 400000,
        max_tokens: 128000,
        pricing: { input: '0.00000125', output: '0.00001', input_cache_read: '0.000000125' },
      },
    ],
  });
  assert.deepEqual([model.contextLength, model.maxOutput], [400000, 128000]);
  assert.deepEqual(model.pricing, { prompt: '0.00000125', completion: '0.00001', input_cache_read: '0.000000125' });
});

test('Vercel: prices of long prompts are a list for each kind of tokens', () => {
  const tier = (min: unknown, cost: unknown) => ({ min, max: 9, cost });
  const model = only('vercel', {
    data: [
      {
        id: 'v/long',
        type: 'language',
        pricing: {
          input: '0.000003',
          output: '0.000015',
          input_tiers: [tier(200001, '0.000006'), tier(0, '0.000003'), tier('many', '1'), null],
          output_tiers: [tier(0, '0.000015'), tier(200001, '0.0000225'), tier(300001, '0.00003'), tier(400001, 'free')],
          input_cache_read_tiers: 'none',
        },
      },
    ],
  });
  assert.deepEqual(model.pricing, { prompt: '0.000003', completion: '0.000015' });
  assert.deepEqual(model.priceTiers, [
    { minPromptTokens: 200001, pricing: { prompt: '0.000006', completion: '0.0000225' } },
    { minPromptTokens: 300001, pricing: { completion: '0.00003' } },
  ]);
});

test('prices that nobody can calculate with are left out', () => {
  const listed = (pricing: unknown) => only('vercel', { data: [{ id: 'v/new', type: 'language', pricing }] });
  for (const input of ['free', '-1', '11e999', '9'.repeat(5000), `0.${'0'.repeat(5000)}1`]) {
    const model = listed({ input, output: '0.00001' });
    assert.deepEqual(model.pricing, { completion: '0.00001' });
    assert.equal(costOf(model, { input: 10, output: 10 }), 100_000_000n);
  }
});

test('models of types that neither chat nor embed are left out', () => {
  const types = ['image', 'video', 'reranking', 'speech', 'transcription', 'realtime', 'evaluation', 'decision'];
  const others = [...types, 'transcribe', 'embedding'].map((type) => ({ id: `v/${type}`, type }));
  const ids = discoveredModels('vercel', { data: [...others, { id: 'v/new', type: 'language' }] }).map(({ id }) => id);
  assert.deepEqual(ids, ['vercel/v/embedding', 'vercel/v/new']);
});

test('Mistral: capabilities', () => {
  const model = only('mistral', {
    data: [
      {
        id: 'mistral-huge-9',
        name: 'mistral-huge-9',
        max_context_length: 262144,
        capabilities: { completion_chat: true, function_calling: true, vision: true, reasoning: false },
        deprecation: '2027-08-31T12:00:00Z',
      },
      { id: 'mistral-vector-9', max_context_length: 8192, capabilities: { completion_chat: false, vision: false } },
    ],
  });
  assert.deepEqual(model.inputModalities, ['text', 'image']);
  assert.ok(model.supportedParameters.includes('tools') && !model.supportedParameters.includes('reasoning'));
  assert.equal(model.rules.reasoning, 'none');
  assert.equal(model.expirationDate, '2027-08-31');
});

test('Gemini', () => {
  const model = only('google', {
    models: [
      {
        name: 'models/gemini-9-pro',
        version: '9.0',
        displayName: 'Gemini 9 Pro',
        inputTokenLimit: 2_000_000,
        outputTokenLimit: 65_536,
        supportedGenerationMethods: ['generateContent', 'countTokens'],
        thinking: true,
      },
      { name: 'models/imagen-9', supportedGenerationMethods: ['predict'] },
      { name: 'models/gemini-9-pro-tts', supportedGenerationMethods: ['generateContent'] },
    ],
    nextPageToken: 'x',
  });
  assert.deepEqual([model.id, model.name, model.version], ['google/gemini-9-pro', 'Gemini 9 Pro', '9.0']);
  assert.deepEqual([model.contextLength, model.maxOutput], [2_000_000, 65_536]);
  assert.ok(model.supportedParameters.includes('reasoning'));
});

test('Anthropic', () => {
  const model = only('anthropic', {
    data: [
      {
        type: 'model',
        id: 'claude-opus-9',
        display_name: 'Claude Opus 9',
        created_at: '2027-01-02T03:04:05Z',
        max_input_tokens: 1_000_000,
        max_tokens: 128_000,
        capabilities: {
          image_input: { supported: true },
          pdf_input: { supported: true },
          thinking: { supported: true },
          structured_outputs: { supported: true },
        },
      },
    ],
    has_more: false,
  });
  assert.deepEqual([model.name, model.created], ['Claude Opus 9', Date.UTC(2027, 0, 2, 3, 4, 5) / 1000]);
  assert.deepEqual(model.inputModalities, ['text', 'image', 'file']);
  assert.deepEqual([model.contextLength, model.maxOutput], [1_000_000, 128_000]);
});

test('a list of several servers a model is believed only where there is one', () => {
  const several = { id: 'b', providers: [{ context_length: 1 }, { context_length: 2 }] };
  const one = { id: 'a', providers: [{ context_length: 9, pricing: { input: 0.3, output: 1.2 } }] };
  const [first, second] = discoveredModels('hub', { data: [one, several] });
  assert.deepEqual([first?.contextLength, first?.pricing.prompt], [9, '0.0000003']);
  assert.equal(second?.contextLength, 0);
});

test('a bundled model keeps its name and slug, and takes limits and prices from the list', () => {
  const model = only(
    'team',
    {
      data: [
        {
          id: 'gpt-5',
          created: 1,
          owned_by: 'system',
          context_length: 1234,
          pricing: { prompt: '1', completion: '2' },
        },
      ],
    },
    'openai',
  );
  assert.deepEqual([model.name, model.canonicalSlug, model.ownedBy], ['GPT-5', 'team/gpt-5-2025-08-07', 'openai']);
  const images = { image_tool_input: '0.000008', image_tool_output: '0.00003' };
  const tools = { web_search: '0.01', ...images, file_search: '0.0025', container: '0.03' };
  assert.deepEqual([model.contextLength, model.pricing], [1234, { prompt: '1', completion: '2', ...tools }]);
  assert.equal(model.rules.reasoning, 'effort');
});

test('prices of tools that a list has stay, and those that it leaves out are the known ones', () => {
  const own = { prompt: '1', completion: '2', web_search_request: '3', image_tool_output: '4' };
  const model = only('team', { data: [{ id: 'gpt-5', pricing: own }] }, 'openai');
  assert.deepEqual(model.pricing, { ...own, image_tool_input: '0.000008', file_search: '0.0025', container: '0.03' });
});

test('what is no list of models gives none', () => {
  for (const body of [
    null,
    undefined,
    {},
    [],
    'text',
    { data: 'x' },
    { data: [null, 1, {}] },
    { error: { message: 'no' } },
  ]) {
    assert.deepEqual(discoveredModels('any', body), []);
  }
});
