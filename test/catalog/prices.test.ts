/** What is billed apart has a price of its own in the bundled catalog: web searches, audio and images. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bundledModelEntries, bundledModels, customModel, entriesByVendor } from '../../src/catalog/bundled.ts';
import { costOf, priceLinesOf } from '../../src/catalog/cost.ts';
import { type CatalogUpdate, updateCatalog } from '../../src/catalog/import/update.ts';
import { costBoundsOf, maxCostOf } from '../../src/catalog/max-cost.ts';
import { pricesInTier } from '../../src/catalog/service-tiers.ts';
import type { CatalogModel } from '../../src/core/model.ts';
import { decimalOf } from '../../src/core/money.ts';

const VENDORS = ['anthropic', 'cohere', 'deepseek', 'google', 'mistral', 'openai', 'openrouter', 'xai'];
const all = VENDORS.flatMap((vendor) => bundledModels(vendor)).filter(({ video }) => !video);

const SAME = 'audio costs what text does';
const UNLISTED = 'its vendor and OpenRouter list no price of audio';
const BY_MINUTE = 'audio is sold by the minute, and answers count no tokens of it';

/** Models without a price of what they read or write, by the reason. */
const WITHOUT_OWN_PRICE: Record<string, string> = {
  'google/gemini-2.5-pro': SAME,
  'google/gemini-3.1-pro-preview': SAME,
  'google/gemini-3.1-pro-preview-customtools': SAME,
  'google/gemini-3.5-flash-lite': SAME,
  'mistral/voxtral-small-latest': BY_MINUTE,
  'openrouter/google/gemini-2.5-pro': SAME,
  'openrouter/google/gemini-2.5-pro-preview': SAME,
  'openrouter/google/gemini-2.5-pro-preview-05-06': SAME,
  'openrouter/google/gemini-3.1-pro-preview': SAME,
  'openrouter/google/gemini-3.1-pro-preview-customtools': SAME,
  'openrouter/google/gemini-3.5-flash-lite': SAME,
  'openrouter/google/gemini-3.6-flash': SAME,
  'openrouter/google/gemini-3.7-flash': SAME,
  'openrouter/google/lyria-3-clip-preview': 'a piece of music is sold by the request',
  'openrouter/google/lyria-3-pro-preview': 'a piece of music is sold by the request',
  'openrouter/meta/muse-spark-1.1': UNLISTED,
  'openrouter/meta/muse-spark-1.2': UNLISTED,
  'openrouter/mistralai/voxtral-small-24b-2507': BY_MINUTE,
  'openrouter/nvidia/nemotron-3-nano-omni-30b-a3b-reasoning:free': 'free',
  'openrouter/openrouter/auto': 'the price is that of the model it chooses',
  'openrouter/openrouter/auto-beta': 'the price is that of the model it chooses',
  'openrouter/thinkingmachines/inkling': UNLISTED,
  'openrouter/thinkingmachines/inkling-small': UNLISTED,
  'openrouter/xiaomi/mimo-v2.5': UNLISTED,
  'openrouter/~google/gemini-flash-latest': SAME,
  'openrouter/~google/gemini-pro-latest': SAME,
};

function missingPrices({ inputModalities, outputModalities, pricing }: CatalogModel): string[] {
  const needed = [
    inputModalities.includes('audio') && 'audio',
    outputModalities.includes('audio') && 'audio_output',
    outputModalities.includes('image') && 'image_output',
  ];
  return needed.filter((name) => name !== false && pricing[name] === undefined) as string[];
}

test('a model that reads or writes audio, or writes images, has a price of it, or a reason why not', () => {
  const lacking = all.filter((model) => !outputsVectors(model) && missingPrices(model).length > 0);
  assert.deepEqual(lacking.map(({ id }) => id).sort(), Object.keys(WITHOUT_OWN_PRICE).sort());
  for (const [id, reason] of Object.entries(WITHOUT_OWN_PRICE))
    if (reason.startsWith('a piece of music')) assert.ok(Number(modelOf(id).pricing.request) > 0, id);
});

function outputsVectors({ outputModalities }: CatalogModel): boolean {
  return outputModalities.includes('embeddings');
}

test('audio and images are charged by their own prices', () => {
  const audio = { input: 1_000_000, audioInput: 1_000_000, output: 1_000_000, audioOutput: 1_000_000 };
  assert.equal(decimalOf(costOf(modelOf('openai/gpt-audio'), audio)), '96');
  assert.equal(decimalOf(costOf(modelOf('openai/gpt-audio-mini'), audio)), '30');
  const images = { input: 0, output: 2_000_000, imageOutput: 1_000_000 };
  assert.equal(decimalOf(costOf(modelOf('google/gemini-3-pro-image'), images)), '132');
  assert.equal(decimalOf(costOf(modelOf('openrouter/google/gemini-3-pro-image'), images)), '132');
});

/** Providers that bill the web searches that they run, and those of their models that run none. */
const BILLING = ['anthropic', 'google', 'openai', 'openrouter', 'xai'];
const NEVER_SEARCHES = /^google\/gemma-/;

test('each priced model of a provider that bills web searches has a price of them, and no other has', () => {
  for (const model of all) {
    const { id, provider, pricing } = model;
    const bills = BILLING.includes(provider) && !NEVER_SEARCHES.test(id) && !outputsVectors(model);
    const prices = Object.keys(pricing).filter((name) => name.startsWith('web_search'));
    assert.equal(prices.length, bills && pricing.prompt !== undefined ? 1 : 0, id);
  }
});

const THREE: [id: string, cost: string][] = [
  ['anthropic/claude-haiku-4-5', '0.03'],
  ['openai/gpt-5.4', '0.03'],
  ['openai/gpt-4.1-mini', '0.075'],
  ['google/gemini-3.5-flash', '0.042'],
  ['google/gemini-flash-latest', '0.042'],
  ['google/gemini-2.5-flash', '0.035'],
  ['xai/grok-4.5', '0.015'],
  ['openrouter/openai/gpt-5', '0.03'],
  ['openrouter/x-ai/grok-4.5', '0.015'],
  ['openrouter/deepseek/deepseek-v4-pro', '0.06'],
];

describe('three web searches in an answer cost', () => {
  for (const [id, cost] of THREE) {
    test(`${id}: ${cost}, in any tier`, () => {
      const usage = { input: 0, output: 0, searches: 3 };
      for (const tier of [undefined, 'priority', 'flex'])
        assert.equal(decimalOf(costOf(pricesInTier(modelOf(id), tier), usage)), cost);
    });
  }
});

test('images of a tool cost the same in any tier', () => {
  const usage = { input: 0, output: 0, imageToolInput: 1000, imageToolOutput: 1000 };
  for (const tier of [undefined, 'priority', 'flex'])
    assert.equal(decimalOf(costOf(pricesInTier(modelOf('openai/gpt-5.4'), tier), usage)), '0.038');
});

test('searches are reserved', () => {
  const expected = { input: 0, audioInput: 0, imageInput: 0, mayOutputAudio: false, searches: 5 };
  const costOfNothing = (id: string) => decimalOf(maxCostOf(costBoundsOf(modelOf(id), expected), 0));
  assert.equal(costOfNothing('google/gemini-3.5-flash'), '0.07');
  assert.equal(costOfNothing('google/gemini-2.5-flash'), '0.035');
});

test('searches that are billed once are one line', () => {
  const usage = { input: 0, output: 0, searches: 3 };
  assert.deepEqual(priceLinesOf(modelOf('google/gemini-2.5-flash'), usage), [['searches', 1, '0.035']]);
  const both = { pricing: { web_search: '0.01', web_search_request: '0.035' } };
  assert.deepEqual(priceLinesOf(both, usage), [['searches', 3, '0.01']]);
});

test('a price of searches in the configuration comes before that of the provider', () => {
  const priced = (pricing: Record<string, string>) =>
    customModel('google', { id: 'gemini-2.5-flash', pricing }).pricing;
  assert.deepEqual(priced({ prompt: '1' }), { prompt: '1', web_search_request: '0.035', maps_request: '0.025' });
  const own = { prompt: '1', web_search: '0', maps_request: '0' };
  assert.deepEqual(priced(own), own);
  assert.deepEqual(priced({}), {}, 'without any price the cost is unknown');
});

function updatedBy(price: number): CatalogUpdate {
  const facts = { litellm_provider: 'anthropic', mode: 'chat', max_input_tokens: 1_000_000 };
  const search_context_cost_per_query = { search_context_size_medium: price };
  const before = bundledModelEntries();
  const text = JSON.stringify({ 'claude-opus-5': { ...facts, search_context_cost_per_query } });
  return updateCatalog(text, { before, bundled: before });
}

test('a price of searches in a newer catalog comes before that of the provider', () => {
  const { entries, changes } = updatedBy(0.02);
  assert.deepEqual(changes, [
    { id: 'anthropic/claude-opus-5', fact: 'pricing.web_search', before: '0.01', after: '0.02' },
  ]);
  const models = bundledModels('anthropic', 'anthropic', entriesByVendor(entries));
  const updated = models.find(({ upstreamId }) => upstreamId === 'claude-opus-5');
  assert.equal(updated?.pricing.web_search, '0.02');
});

test('a newer catalog does not make searches free, nor almost free', () => {
  for (const price of [0, 0.000001]) {
    const { entries, changes } = updatedBy(price);
    assert.ok(changes.every(({ refused }) => refused !== undefined));
    const models = bundledModels('anthropic', 'anthropic', entriesByVendor(entries));
    assert.ok(models.every(({ pricing }) => pricing.web_search === '0.01'));
  }
});

function modelOf(id: string): CatalogModel {
  return all.find((model) => model.id === id) ?? assert.fail(id);
}
