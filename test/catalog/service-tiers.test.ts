/** Prices of service tiers: those that providers publish, those of the configuration, and what counts where none are known. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bundledModels, customModel } from '../../src/catalog/bundled.ts';
import { costOf } from '../../src/catalog/cost.ts';
import { hasTierPrices, possiblePrices, pricesInTier } from '../../src/catalog/service-tiers.ts';
import type { CatalogModel } from '../../src/core/model.ts';
import { decimalOf } from '../../src/core/money.ts';

/** USD per million tokens: input, output, cached input. From the price pages of the providers, November 2026. */
const PUBLISHED: [model: string, tier: string, input: string, output: string, cached: string][] = [
  ['openai/gpt-5', 'priority', '2.5', '20', '0.25'],
  ['openai/gpt-5', 'flex', '0.625', '5', '0.0625'],
  ['openai/gpt-5.2', 'priority', '3.5', '28', '0.35'],
  ['openai/gpt-5.5', 'priority', '12.5', '75', '1.25'],
  ['openai/gpt-5.4', 'priority', '5', '30', '0.5'],
  ['openai/gpt-5.4', 'flex', '1.25', '7.5', '0.13'],
  ['openai/gpt-5.4-mini', 'priority', '1.5', '9', '0.15'],
  ['openai/gpt-5-mini', 'priority', '0.45', '3.6', '0.045'],
  ['openai/gpt-4.1', 'priority', '3.5', '14', '0.875'],
  ['openai/gpt-4.1-mini', 'priority', '0.7', '2.8', '0.175'],
  ['openai/gpt-4.1-nano', 'priority', '0.2', '0.8', '0.05'],
  ['openai/gpt-4o', 'priority', '4.25', '17', '2.125'],
  ['openai/gpt-4o-mini', 'priority', '0.25', '1', '0.125'],
  ['openai/o3', 'priority', '3.5', '14', '0.875'],
  ['openai/o4-mini', 'priority', '2', '8', '0.5'],
  ['openai/o4-mini', 'flex', '0.55', '2.2', '0.138'],
  ['anthropic/claude-opus-5', 'fast', '10', '50', '1'],
  ['anthropic/claude-opus-4-7', 'fast', '30', '150', '3'],
  ['anthropic/claude-opus-5', 'priority', '5', '25', '0.5'],
  ['anthropic/claude-opus-5', 'regional', '5.5', '27.5', '0.55'],
  ['anthropic/claude-opus-5', 'fast.regional', '11', '55', '1.1'],
  ['google/gemini-2.5-pro', 'priority', '2.25', '18', '0.225'],
  ['google/gemini-2.5-flash', 'flex', '0.15', '1.25', '0.03'],
  ['google/gemini-3.5-flash-lite', 'priority', '0.54', '4.5', '0.05'],
];

function modelOf(id: string): CatalogModel {
  const vendor = id.slice(0, id.indexOf('/'));
  const model = bundledModels(vendor).find((one) => one.id === id);
  assert.ok(model, id);
  return model;
}

const MILLION = { input: 1_000_000, output: 0 };

function costs(model: CatalogModel, tier: string): string[] {
  const { pricing } = pricesInTier(model, tier);
  const usages = [MILLION, { input: 0, output: 1_000_000 }, { ...MILLION, cached: 1_000_000 }];
  return usages.map((usage) => decimalOf(costOf({ pricing }, usage)));
}

describe('a million tokens cost in a tier', () => {
  for (const [id, tier, ...expected] of PUBLISHED) {
    test(`${id}, ${tier}`, () => assert.deepEqual(costs(modelOf(id), tier), expected));
  }
});

test('long prompts have the factor too, searches have none', () => {
  const model = { ...modelOf('google/gemini-2.5-pro') };
  model.pricing = { ...model.pricing, web_search: '0.014' };
  const prices = pricesInTier(model, 'priority');
  assert.equal(decimalOf(costOf(prices, MILLION)), '4.5');
  assert.equal(decimalOf(costOf(prices, { input: 0, output: 0, searches: 1 })), '0.014');
});

test('a region without known prices changes nothing, and its own prices count in the standard tier', () => {
  const plain = modelOf('openai/gpt-5');
  assert.equal(pricesInTier(plain, 'regional'), plain);
  assert.deepEqual(costs(plain, 'priority.regional'), costs(plain, 'priority'));
  assert.ok(!hasTierPrices(plain, 'regional') && !hasTierPrices(plain, 'priority.regional'));
  const pricing = { prompt: '0.000001', completion: '0.00001' };
  const own = { ...plain, serviceTiers: { ...plain.serviceTiers, regional: { pricing } } };
  assert.deepEqual(costs(own, 'regional'), ['1', '10', '1']);
  assert.deepEqual(costs(own, 'priority.regional'), costs(own, 'priority'), 'the dearer ones');
  assert.ok(hasTierPrices(own, 'regional') && hasTierPrices(own, 'priority.regional'));
});

test('a dearer tier within a region may have prices of its own', () => {
  const pricing = (prompt: string, completion: string) => ({ pricing: { prompt, completion } });
  const serviceTiers = {
    fast: pricing('0.00001', '0.00005'),
    regional: pricing('0.0000055', '0.0000275'),
    'fast.regional': pricing('0.000011', '0.000055'),
  };
  const model = { ...modelOf('anthropic/claude-opus-5'), serviceTiers };
  assert.deepEqual(costs(model, 'fast.regional'), ['11', '55', '11']);
  assert.deepEqual(costs(model, 'warp'), ['10', '50', '10'], 'not those of a region');
  assert.ok(hasTierPrices(model, 'fast.regional'));
});

test('an unknown tier costs no more for the regions that a model has', () => {
  const model = modelOf('anthropic/claude-opus-5');
  assert.deepEqual(costs(model, 'warp'), costs(model, 'fast'));
  const only = { ...model, serviceTiers: { regional: { factors: { '*': '1.1' } } } };
  assert.equal(pricesInTier(only, 'warp'), only);
});

test('the standard tier, by all its names, is the model itself', () => {
  const model = modelOf('openai/gpt-5');
  for (const tier of [undefined, '', 'auto', 'default', 'standard', 'on_demand', 'standard_only'])
    assert.equal(pricesInTier(model, tier), model, tier);
  assert.deepEqual(possiblePrices(model, undefined), [model]);
});

test('fast is priority, where there is nothing faster', () => {
  assert.deepEqual(costs(modelOf('openai/gpt-5'), 'fast'), costs(modelOf('openai/gpt-5'), 'priority'));
});

test('a tier whose prices are not known costs the highest ones, one that is no dearer the standard ones', () => {
  const model = modelOf('xai/grok-4.6');
  assert.ok(hasTierPrices(model, 'priority') && !hasTierPrices(model, 'warp') && !hasTierPrices(model, 'toString'));
  assert.deepEqual(costs(model, 'warp'), costs(model, 'priority'));
  for (const tier of ['flex', 'offpeak', 'provisioned']) assert.equal(pricesInTier(model, tier), model);
  const free = customModel('local', {
    id: 'm',
    pricing: { prompt: '0.000001', completion: '0' },
    serviceTiers: { priority: { pricing: { prompt: '0.000002', completion: '0' } } },
  });
  assert.deepEqual(costs(free, 'warp'), ['2', '0', '2'], 'by the input too');
  const local = customModel('local', { id: 'm', pricing: { prompt: '1' } });
  assert.equal(pricesInTier(local, 'priority'), local);
});

test('prices of the configuration come before factors, which count for configured prices', () => {
  const pricing = { prompt: '0.000002', completion: '0.000004', request: '0.5' };
  const own = customModel('openai', { id: 'gpt-5', pricing });
  assert.deepEqual(costs(own, 'priority'), ['4.5', '8.5', '4.5'], 'the request costs the same');
  const tiered = customModel('openai', {
    id: 'gpt-5',
    pricing,
    serviceTiers: { priority: { pricing: { prompt: '0.000003', completion: '0.000005' } } },
  });
  assert.deepEqual(costs(tiered, 'priority'), ['3.5', '5.5', '3.5']);
  assert.deepEqual(costs(tiered, 'flex'), ['1.5', '2.5', '1.5']);
});
