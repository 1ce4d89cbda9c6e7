/** Cost of responses. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { costOf, costOfLine, decodePriceLines, encodePriceLines, priceLinesOf } from '../../src/catalog/cost.ts';
import type { Usage } from '../../src/core/chat.ts';
import type { CatalogModel } from '../../src/core/model.ts';
import { decimalOf } from '../../src/core/money.ts';
import type { AskedContainers } from '../../src/core/output.ts';
import { addToolUse, boundCost, withContainerSize, withToolUse } from '../../src/core/usage-bounds.ts';

const MODEL: Pick<CatalogModel, 'pricing' | 'priceTiers'> = {
  pricing: {
    prompt: '0.000003',
    completion: '0.000015',
    input_cache_read: '0.0000003',
    input_cache_write_5m: '0.00000375',
    input_cache_write_1h: '0.000006',
    audio: '0.00001',
    web_search: '0.01',
  },
  priceTiers: [
    {
      minPromptTokens: 200_000,
      pricing: { prompt: '0.000006', completion: '0.0000225', input_cache_read: '0.0000006' },
    },
  ],
};

const CASES: { about: string; usage: Usage; cost: string; model?: typeof MODEL }[] = [
  { about: 'tokens in and out', usage: { input: 1000, output: 100 }, cost: '0.0045' },
  { about: 'cached tokens once', usage: { input: 1000, output: 0, cached: 900 }, cost: '0.00057' },
  {
    about: 'cache writes by their lifetime',
    usage: { input: 300, output: 0, cacheWrite: 200, cacheWrite1h: 100 },
    cost: '0.001275',
  },
  { about: 'audio by its own price', usage: { input: 100, output: 0, audioInput: 40 }, cost: '0.00058' },
  { about: 'reasoning as output', usage: { input: 0, output: 100, reasoning: 60 }, cost: '0.0015' },
  {
    about: 'searches in files, containers and places of a map by the piece',
    usage: { input: 0, output: 0, fileSearches: 2, containers: 4, mapRequests: 1 },
    model: { pricing: { prompt: '1', file_search: '0.0025', container: '0.03', maps_request: '0.025' } },
    cost: '0.15',
  },
  { about: 'searches by the piece', usage: { input: 0, output: 0, searches: 3 }, cost: '0.03' },
  { about: 'the tier that the prompt reaches', usage: { input: 200_000, output: 10 }, cost: '1.200225' },
  { about: 'the model below the tier', usage: { input: 199_999, output: 0 }, cost: '0.599997' },
  { about: 'cached tokens of the tier', usage: { input: 200_000, output: 0, cached: 200_000 }, cost: '0.12' },
  {
    about: 'rounds by their own prompts',
    usage: {
      ...{ input: 350_000, output: 30 },
      rounds: [
        { input: 150_000, output: 10 },
        { input: 200_000, output: 20 },
      ],
    },
    cost: '1.6506',
  },
  { about: 'a request', usage: { input: 0, output: 0 }, model: { pricing: { request: '0.005' } }, cost: '0.005' },
  {
    about: 'the prompt’s price where a kind has none',
    usage: { input: 10, output: 0, cached: 5 },
    model: { pricing: { prompt: '0.1' } },
    cost: '1',
  },
  {
    about: 'reasoning with a price',
    usage: { input: 0, output: 3, reasoning: 1 },
    model: { pricing: { completion: '1', internal_reasoning: '2' } },
    cost: '4',
  },
  {
    about: 'images by the token, read and written',
    usage: { input: 100, output: 50, imageInput: 40, imageOutput: 30 },
    model: { pricing: { prompt: '1', completion: '2', image_token: '3', image_output: '5' } },
    cost: '370',
  },
  {
    about: 'images of a tool by its model, which are not among the tokens',
    usage: { input: 10, output: 5, imageToolInput: 100, imageToolOutput: 50 },
    model: { pricing: { prompt: '1', completion: '2', image_tool_input: '3', image_tool_output: '5' } },
    cost: '570',
  },
  {
    about: 'images of a tool that has no prices by those of the model',
    usage: { input: 10, output: 5, imageToolInput: 100, imageToolOutput: 50 },
    model: { pricing: { prompt: '1', completion: '2' } },
    cost: '220',
  },
  {
    // OpenRouter lists gpt-4o with 3.613 USD for 1,000 images, which is the price of the 1,445 tokens of a large one.
    about: 'an image by its tokens, of which the price of an image is the sum',
    usage: { input: 1445, output: 0, imageInput: 1445 },
    model: { pricing: { prompt: '0.0000025', completion: '0.00001', image: '0.003613' } },
    cost: '0.0036125',
  },
  {
    about: 'cached audio and cached images once',
    usage: { input: 100, output: 0, cached: 50, cachedAudio: 20, cachedImage: 10, audioInput: 25, imageInput: 30 },
    model: { pricing: { prompt: '1', input_cache_read: '2', input_audio_cache: '3', audio: '4', image_token: '5' } },
    // 20 of cached audio, 30 of the rest of the cache, 5 of audio, 20 of images, 25 of text.
    cost: '265',
  },
  {
    about: 'images that must be among the cached tokens once',
    usage: { input: 100, output: 0, cached: 90, imageInput: 50 },
    model: { pricing: { prompt: '1', input_cache_read: '2', image_token: '5' } },
    cost: '230',
  },
  {
    about: 'millions of tokens exactly',
    usage: { input: 20_000_000, output: 0 },
    cost: '120',
  },
  { about: 'at most the bound', usage: { input: 1e300, output: 1e300 }, cost: '5000' },
  { about: 'nothing without prices', usage: { input: 10, output: 10 }, model: { pricing: {} }, cost: '0' },
];

describe('an answer costs', () => {
  for (const { about, usage, cost, model = MODEL } of CASES) {
    test(about, () => assert.equal(decimalOf(costOf(model, usage)), cost));
  }

  test('exactly as much in parts as in one', () => {
    const count = fc.nat(1_000_000);
    fc.assert(
      fc.property(count, count, (input, output) => {
        const pricing = { prompt: '0.000000003625', completion: '0.0000125' };
        const whole = costOf({ pricing }, { input, output });
        assert.equal(whole, costOf({ pricing }, { input, output: 0 }) + costOf({ pricing }, { input: 0, output }));
      }),
    );
  });
});

test('its lines add up to it, to the last digit', () => {
  const count = fc.option(fc.integer({ min: 0, max: 3_000_000 }), { nil: undefined });
  const price = fc
    .tuple(fc.integer({ min: 0, max: 99_999 }), fc.integer({ min: 0, max: 14 }))
    .map(([digits, places]) => `${digits}e-${places}`);
  const names = ['prompt', 'completion', 'input_cache_read', 'audio', 'internal_reasoning', 'request', 'image_output'];
  const pricing = fc.dictionary(fc.constantFrom(...names), price);
  const usage = fc.record({
    ...{ input: fc.nat(3_000_000), output: fc.nat(3_000_000), cached: count, cachedAudio: count, cacheWrite: count },
    ...{ cacheWrite1h: count, reasoning: count, audioInput: count, imageOutput: count, searches: count },
  });
  fc.assert(
    fc.property(pricing, usage, (prices, given) => {
      const used = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      const model = { pricing: prices };
      const lines = decodePriceLines(encodePriceLines(priceLinesOf(model, used as unknown as Usage))) ?? [];
      const sum = lines.reduce((total, line) => total + costOfLine(line), 0n);
      assert.equal(boundCost(sum), costOf(model, used as unknown as Usage));
    }),
  );
});

test('tools that an answer has shown beside the rounds that were counted', () => {
  const rounds = [
    { input: 1000, output: 50, searches: 1 },
    { input: 3000, output: 1 },
  ];
  const counted = { input: 4000, output: 51, searches: 1, rounds };
  const prices = { ...MODEL, pricing: { ...MODEL.pricing, image_tool_output: '0.00003' } };
  const more = withToolUse(counted, { searches: 4, imageToolOutput: 408 });
  assert.equal(costOf(prices, more) - costOf(prices, counted), boundCost(30_000_000_000n + 408n * 30_000_000n));
  assert.equal(costOf(prices, more), costOf({ pricing: prices.pricing }, more));
  assert.deepEqual(withToolUse(counted, { searches: 1 }), counted);
});

test('stored lines of a kind that is not known are skipped', () => {
  assert.deepEqual(decodePriceLines('i1x0.5 Z2x0.1 o3x0.25'), [
    ['input', 1, '0.5'],
    ['output', 3, '0.25'],
  ]);
  assert.equal(decodePriceLines('i1x0.5 of none'), undefined);
});

test('tools that an answer has shown are counted where they are more than was reported, also in rounds', () => {
  const rounds = [
    { input: 1, output: 1, containers: 1 },
    { input: 1, output: 1 },
  ];
  const counted: Usage = { input: 2, output: 2, containers: 1, rounds };
  assert.deepEqual(withToolUse(counted, { containers: 1 }), counted);
  const more = withToolUse(counted, { fileSearches: 2, containers: 2 });
  assert.deepEqual([more.fileSearches, more.containers], [2, 2]);
  assert.deepEqual(more.rounds?.at(-1), { input: 0, output: 0, fileSearches: 2, containers: 1 });
  const large = withContainerSize(counted, { containerSize: 4 });
  assert.deepEqual([large.containers, large.rounds?.[0]?.containers, large.rounds?.[1]], [4, 4, rounds[1]]);
  assert.equal(withContainerSize(counted, { containerSize: 4 }, { containerSize: 0 }).containers, 0);
});

test('containers of several sizes cost at most what the request asks for, and each a gigabyte at least', () => {
  const sizeOf = (containers: number, ...asked: AskedContainers[]) =>
    withContainerSize({ input: 1, output: 1, containers }, ...asked).containers;
  const asked = { containerSize: 64, containerSum: 66 };
  assert.deepEqual(
    [1, 2, 3, 4].map((count) => sizeOf(count, asked)),
    [64, 66, 66, 67],
  );
  assert.equal(sizeOf(2, {}, asked), 66);
  assert.equal(sizeOf(2, { containerSize: 64, containerSum: 128 }), 128);
  assert.equal(sizeOf(2, { containerSize: 0 }, asked), 0);
});

test('containers that an answer has shown are told apart by their ids, up to 64', () => {
  const usesOf = (ids: string[]) => ids.map((id) => ({ containers: 1, ...(id && { containerIds: [id] }) }));
  const countOf = (ids: string[]) => usesOf(ids).reduce(addToolUse, {}).containers;
  assert.deepEqual(
    [
      ['a', 'b', 'a'],
      ['a', '', 'b'],
      ['', ''],
    ].map(countOf),
    [2, 2, 1],
  );
  assert.equal(countOf(Array.from({ length: 100 }, (_, index) => `c${index}`)), 64);
});
