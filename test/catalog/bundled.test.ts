/** The bundled catalog is complete and well formed; an operator's entries override it. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Type } from 'typebox';
import { bundledModels, customModel } from '../../src/catalog/bundled.ts';
import { costOf } from '../../src/catalog/cost.ts';
import { fileText } from '../../src/catalog/import/merge.ts';
import { isReachable } from '../../src/catalog/rules.ts';
import { problems } from '../../src/core/json/check.ts';
import type { CatalogModel } from '../../src/core/model.ts';

const VENDORS = ['anthropic', 'cohere', 'deepseek', 'google', 'mistral', 'openai', 'openrouter', 'xai'];

const Modalities = Type.Array(Type.Enum(['text', 'image', 'file', 'audio', 'video']), {
  minItems: 1,
  uniqueItems: true,
});
const Pricing = Type.Record(
  Type.String({ pattern: '^[a-z0-9_]+$' }),
  Type.String({ pattern: '^(0|[1-9][0-9]*)(\\.[0-9]*[1-9])?$' }),
);
const Model = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z]+/.+' }),
    provider: Type.Enum(VENDORS),
    upstreamId: Type.String({ minLength: 1 }),
    canonicalSlug: Type.String({ minLength: 1 }),
    name: Type.String({ minLength: 1 }),
    description: Type.String({ minLength: 20 }),
    created: Type.Integer({ minimum: 1_500_000_000, maximum: 4_000_000_000 }),
    ownedBy: Type.String({ minLength: 1 }),
    version: Type.String({ minLength: 1 }),
    contextLength: Type.Integer({ minimum: 1 }),
    maxOutput: Type.Integer({ minimum: 1 }),
    inputModalities: Modalities,
    outputModalities: Modalities,
    tokenizer: Type.String({ minLength: 1 }),
    instructType: Type.Union([Type.String(), Type.Null()]),
    pricing: Pricing,
    priceTiers: Type.Optional(
      Type.Array(
        Type.Object(
          { minPromptTokens: Type.Integer({ minimum: 1 }), pricing: Pricing },
          { additionalProperties: false },
        ),
        { minItems: 1 },
      ),
    ),
    serviceTiers: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Object(
          { factors: Type.Record(Type.String(), Type.String({ pattern: '^\\d+(\\.\\d+)?$' })) },
          { additionalProperties: false },
        ),
      ),
    ),
    isModerated: Type.Boolean(),
    supportedParameters: Type.Array(Type.String(), { uniqueItems: true }),
    expirationDate: Type.Union([Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' }), Type.Null()]),
    rules: Type.Object({}),
  },
  { additionalProperties: false },
);

const all = VENDORS.flatMap((vendor) => bundledModels(vendor)).filter(({ video }) => !video);
const isEmbedding = ({ outputModalities }: CatalogModel) => outputModalities.includes('embeddings');

test('every bundled model is a valid catalog model that chats or embeds', () => {
  for (const model of all) {
    // A vector has no length in tokens.
    const chats = isEmbedding(model) ? { ...model, maxOutput: 1, outputModalities: ['text'] } : model;
    assert.deepEqual(problems(Model, chats), [], model.id);
    assert.deepEqual(model.outputModalities.includes('text'), !isEmbedding(model), model.id);
    assert.ok(model.inputModalities.includes('text'), model.id);
    assert.ok(isReachable(model.provider, model.upstreamId), model.id);
    const from = model.priceTiers?.map(({ minPromptTokens }) => minPromptTokens) ?? [];
    assert.deepEqual(
      from,
      from.toSorted((one, other) => one - other),
      model.id,
    );
  }
});

test('the file is as the importer writes it: sorted, one model a line, small', () => {
  const text = readFileSync(new URL('../../src/catalog/models.json', import.meta.url), 'utf8');
  const entries: { id: string }[] = JSON.parse(text);
  assert.equal(text, fileText(entries));
  assert.ok(text.length < 1_000_000);
  const ids = entries.map(({ id }) => id);
  assert.deepEqual(ids, [...new Set(ids)].sort());
  assert.equal(ids.length, all.length, 'every line belongs to a vendor that is served');
});

test('what can be bought from the vendor itself has a price', () => {
  const sold = all.filter(({ provider }) => provider !== 'openrouter' && provider !== 'cohere');
  const unpriced = sold.filter(({ pricing }) => !(pricing.prompt && pricing.completion));
  assert.deepEqual(
    unpriced.map(({ id }) => id),
    [],
  );
});

test('rules are completed by facts', () => {
  const [flash] = bundledModels('google').filter(({ upstreamId }) => upstreamId === 'gemini-2.5-flash');
  assert.equal(flash?.rules.maxOutput, 65536);
  assert.deepEqual(flash?.rules.inputModalities, ['text', 'image', 'file', 'audio', 'video']);
  const [large] = bundledModels('mistral').filter(({ upstreamId }) => upstreamId === 'mistral-large-latest');
  assert.equal(large?.rules.reasoning, 'none', 'a model that is known not to reason');
});

test("a provider of the operator's own name serves a vendor's models", () => {
  const [model] = bundledModels('team', 'openai').filter(({ upstreamId }) => upstreamId === 'gpt-5');
  assert.equal(model?.id, 'team/gpt-5');
  assert.equal(model?.provider, 'team');
  assert.equal(model?.canonicalSlug, 'team/gpt-5-2025-08-07');
  assert.equal(model?.tokenizer, 'GPT');
  assert.equal(model?.rules.systemRole, 'developer');
  assert.deepEqual(bundledModels('nobody'), []);
});

test('a custom entry overrides a bundled model field by field', () => {
  const model = customModel('openai', {
    id: 'gpt-5.4',
    pricing: { prompt: '0.000001' },
    name: 'Ours',
    rules: { stop: false },
  });
  assert.equal(model.name, 'Ours');
  assert.equal(model.contextLength, 1_050_000);
  assert.deepEqual(model.pricing, {
    prompt: '0.000001',
    web_search: '0.01',
    image_tool_input: '0.000008',
    image_tool_output: '0.00003',
    file_search: '0.0025',
    container: '0.03',
  });
  assert.equal(model.priceTiers, undefined, 'prices of the operator have no tiers but his own');
  assert.equal(model.rules.stop, false);
  assert.equal(model.rules.reasoning, 'effort');
});

test('a custom entry may be an alias', () => {
  const model = customModel('anthropic', { id: 'fast', upstreamId: 'claude-haiku-4-5' });
  assert.deepEqual(
    [model.id, model.upstreamId, model.canonicalSlug],
    ['anthropic/fast', 'claude-haiku-4-5', 'anthropic/claude-haiku-4-5-20251001'],
  );
  assert.equal(model.rules.reasoning, 'budget');
});

test('a custom model nobody knows needs no more than an id', () => {
  const model = customModel('local', { id: 'llama', contextLength: 8192 });
  assert.equal(model.name, 'llama');
  assert.equal(model.canonicalSlug, 'local/llama');
  assert.equal(model.maxOutput, 8192);
  assert.deepEqual(model.pricing, {});
  assert.deepEqual(model.rules, {});
  assert.equal(model.description, 'llama reads text and writes text in a context of 8,192 tokens.');
});

test('the price of long prompts begins where the provider says', () => {
  // "prompts with >272K input tokens", "prompts > 200k tokens", "prompt reaches the listed token threshold".
  for (const [id, border, isAbove] of [
    ['openai/gpt-5.4', 272_000, true],
    ['google/gemini-2.5-pro', 200_000, true],
    ['xai/grok-4.3', 200_000, false],
  ] as const) {
    const model = bundledModels(id.slice(0, id.indexOf('/'))).find((one) => one.id === id) as CatalogModel;
    const long = (input: number): boolean =>
      costOf(model, { input, output: 0 }) > (costOf(model, { input: border - 1, output: 0 }) * 3n) / 2n;
    assert.deepEqual([long(border), long(border + 1)], [!isAbove, true], id);
  }
});
