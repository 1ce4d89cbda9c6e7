/** Every spelling of the routing policy, and every way to get one wrong. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json/json.ts';
import { splitModelName } from '../../src/routing/model-names.ts';
import { NO_POLICY, type RoutingPolicy } from '../../src/routing/policy.ts';
import { readPolicy } from '../../src/routing/request-policy.ts';
import { createProviderSlugs } from '../../src/routing/slugs.ts';

const slugs = createProviderSlugs(new Set(['openai', 'anthropic', 'google', 'xai', 'together', 'mine']));
const openai = { text: 'openai', provider: 'openai' };
const anthropic = { text: 'anthropic', provider: 'anthropic' };

function read(provider: Json, models?: Json): RoutingPolicy {
  return readPolicy({ body: { provider, models }, headers: {}, slugs });
}

const SPELLINGS: [house: string, provider: Json, policy: Partial<RoutingPolicy>][] = [
  ['OpenRouter', { order: ['openai', 'anthropic'] }, { order: [openai, anthropic] }],
  ['OpenRouter', { only: ['OpenAI'] }, { only: [{ text: 'OpenAI', provider: 'openai' }] }],
  [
    'OpenRouter',
    { ignore: ['together/fp8'] },
    { ignore: [{ text: 'together/fp8', provider: 'together', variant: 'fp8' }] },
  ],
  ['OpenRouter', { allow_fallbacks: false }, { allowFallbacks: false }],
  ['OpenRouter', { require_parameters: true }, { requireParameters: true }],
  ['OpenRouter', { data_collection: 'deny' }, { dataPolicy: { noTraining: true } }],
  ['OpenRouter', { data_collection: 'allow' }, {}],
  ['OpenRouter', { zdr: true }, { dataPolicy: { zdr: true } }],
  ['OpenRouter', { enforce_distillable_text: true }, { dataPolicy: { distillable: true } }],
  ['OpenRouter', { quantizations: ['fp8', 'bf16'] }, { quantizations: ['fp8', 'bf16'] }],
  ['OpenRouter', { sort: 'price' }, { sort: 'price' }],
  ['OpenRouter', { sort: 'throughput' }, { sort: 'throughput' }],
  ['OpenRouter', { sort: 'latency' }, { sort: 'latency' }],
  ['OpenRouter', { sort: 'exacto' }, { sort: 'throughput' }],
  ['OpenRouter', { sort: { by: 'exacto', partition: 'none' } }, { sort: 'throughput', acrossModels: true }],
  ['OpenRouter', { sort: { by: 'price', partition: 'none' } }, { sort: 'price', acrossModels: true }],
  ['OpenRouter', { sort: { by: 'latency', partition: 'model' } }, { sort: 'latency' }],
  ['OpenRouter', { preferred_min_throughput: 50 }, { preferredThroughput: { p50: 50 } }],
  ['OpenRouter', { preferred_max_latency: { p50: 1, p99: 4 } }, { preferredLatency: { p50: 1, p99: 4 } }],
  [
    'OpenRouter',
    { max_price: { prompt: 1, completion: '2.5', request: 0, image: '0.01', audio: 3 } },
    { maxPrice: { prompt: 1, completion: 2.5, request: 0, image: 0.01, audio: 3 } },
  ],
  ['OpenRouter', { order: null, only: null, sort: null, allow_fallbacks: null, max_price: null, zdr: null }, {}],
  ['another gateway', { unknown: null, max_price: { unknown: null } }, {}],
  ['Ofox 1', { routing: 'priority' }, {}],
  ['Ofox 1', { routing: 'balanced' }, {}],
  ['Ofox 1', { routing: 'cost' }, { sort: 'price' }],
  ['Ofox 1', { routing: 'latency' }, { sort: 'latency' }],
  ['Ofox 1', { fallback: ['a/b', 'c/d'] }, { fallbackModels: ['a/b', 'c/d'] }],
  ['Ofox 2', { type: 'gemini' }, { pin: { text: 'gemini', provider: 'google' } }],
  [
    'Ofox 2',
    { type: 'grok', options: { grok: { search: true }, openai: {} } },
    { pin: { text: 'grok', provider: 'xai' }, options: { xai: { search: true }, openai: {} } },
  ],
  ['ZenMux', { routing: { type: 'order', providers: ['openai', 'anthropic'] } }, { order: [openai, anthropic] }],
  ['ZenMux', { routing: { type: 'priority', providers: ['openai'] } }, { order: [openai] }],
  [
    'ZenMux',
    { routing: { type: 'priority', primary_factor: 'price', providers: ['openai'] } },
    { sort: 'price', only: [openai] },
  ],
  ['ZenMux', { routing: { primary_factor: 'throughput' } }, { sort: 'throughput' }],
  ['ZenMux', { routing: { primary_factor: 'latency' } }, { sort: 'latency' }],
  ['ZenMux', { routing: { primary_factor: 'cost' } }, { sort: 'price' }],
  ['ZenMux', { routing: { primary_factor: 'speed' } }, { sort: 'latency' }],
  ['ZenMux', { routing: { primary_factor: 'quality' } }, {}],
  ['ZenMux', { routing: { type: 'round_robin', providers: ['openai', 'anthropic'] } }, { only: [openai, anthropic] }],
  ['ZenMux', { routing: { type: 'least_latency', providers: ['openai'] } }, { sort: 'latency', only: [openai] }],
  [
    'ZenMux',
    { routing: { type: 'order', providers: ['anthropic/anthropic_endpoint'] } },
    { order: [{ text: 'anthropic/anthropic_endpoint', provider: 'anthropic', variant: 'anthropic_endpoint' }] },
  ],
  ['ZenMux', { fallback: 'true' }, {}],
  ['ZenMux', { fallback: 'false' }, { allowFallbacks: false }],
  ['ZenMux', { fallback: false }, { allowFallbacks: false }],
  ['ZenMux', { fallback: 'openai' }, { order: [openai] }],
  ['ZenMux', { fallback: 'openai/gpt-5' }, { fallbackModels: ['openai/gpt-5'] }],
];

describe('dialects', () => {
  for (const [house, provider, policy] of SPELLINGS) {
    test(`${house}: ${JSON.stringify(provider)}`, () => {
      assert.deepEqual(defined(read(provider)), defined({ ...NO_POLICY, ...policy }));
    });
  }

  test('models of the body come before the fallback models of the object', () => {
    assert.deepEqual(read({ fallback: ['c'] }, ['a', 'b']).fallbackModels, ['a', 'b', 'c']);
    assert.deepEqual(read(undefined, ['a']).fallbackModels, ['a']);
  });

  test('the header has the same format and overrides the body', () => {
    const header = '{"sort":"price","order":["openai"]}';
    assert.deepEqual(readPolicy({ headers: { 'x-polygate-provider': header }, slugs }).sort, 'price');
    const both = readPolicy({
      body: { provider: { sort: 'latency', zdr: true } },
      headers: { 'x-polygate-provider': header },
      slugs,
    });
    assert.deepEqual([both.sort, both.dataPolicy.zdr, both.order], ['price', true, [openai]]);
  });

  test('without any of them there is no policy', () => {
    assert.equal(readPolicy({ body: {}, headers: {}, slugs }), NO_POLICY);
  });
});

const FAULTS: [provider: Json, param: string, message: RegExp][] = [
  [{ orders: [] }, 'provider.orders', /not a known field; allowed: order, only, ignore, models/],
  [{ order: 'openai' }, 'provider.order', /must be an array/],
  [{ order: [1] }, 'provider.order[0]', /must be a string/],
  [{ order: ['nowhere'] }, 'provider.order[0]', /no provider "nowhere"; known are: anthropic, google, mine/],
  [{ only: ['nowhere/x'] }, 'provider.only[0]', /no provider/],
  [{ ignore: ['nowhere'] }, 'provider.ignore[0]', /no provider/],
  [{ type: 'nowhere' }, 'provider.type', /no provider/],
  [{ options: { nowhere: {} } }, 'provider.options.nowhere', /no provider/],
  [{ options: { openai: 1 } }, 'provider.options.openai', /must be an object/],
  [{ allow_fallbacks: 'no' }, 'provider.allow_fallbacks', /must be true or false/],
  [{ sort: 'quality' }, 'provider.sort', /"price", "throughput", "latency", "exacto"/],
  [{ sort: { by: 'price', partition: 'x' } }, 'provider.sort.partition', /"model", "none"/],
  [{ data_collection: 'maybe' }, 'provider.data_collection', /"allow", "deny"/],
  [{ max_price: { prompts: 1 } }, 'provider.max_price.prompts', /allowed: prompt, completion, request, image, audio/],
  [{ max_price: { prompt: -1 } }, 'provider.max_price.prompt', /at least 0/],
  [{ max_price: { prompt: 'cheap' } }, 'provider.max_price.prompt', /decimal number of USD/],
  [{ preferred_max_latency: { p95: 1 } }, 'provider.preferred_max_latency.p95', /allowed: p50, p75, p90, p99/],
  [{ preferred_min_throughput: 0 }, 'provider.preferred_min_throughput', /greater than 0/],
  [{ routing: 'fastest' }, 'provider.routing', /"priority", "cost", "latency", "balanced"/],
  [{ routing: { type: 'random' } }, 'provider.routing.type', /"round_robin"/],
  [{ routing: { factor: 1 } }, 'provider.routing.factor', /allowed: type, primary_factor, providers/],
  [{ routing: { providers: ['x'] } }, 'provider.routing.providers[0]', /no provider/],
  [{ fallback: 1 }, 'provider.fallback', /must be/],
  ['cheap', 'provider', /must be an object/],
  [[], 'provider', /must be an object/],
];

describe('invalid policies', () => {
  for (const [provider, param, message] of FAULTS) {
    test(JSON.stringify(provider), () => {
      assert.throws(() => read(provider), refusal(param, message));
    });
  }

  test('models must be names', () => {
    for (const models of ['a', [1], [''], Array(21).fill('a')])
      assert.throws(() => read(undefined, models), refusal('models', /list of up to 20/));
  });

  test('an error in the header names the header', () => {
    assert.throws(
      () => readPolicy({ headers: { 'x-polygate-provider': 'price' }, slugs }),
      refusal('x-polygate-provider', /JSON object/),
    );
    assert.throws(
      () => readPolicy({ headers: { 'x-polygate-provider': '[]' }, slugs }),
      refusal('x-polygate-provider', /JSON object/),
    );
    assert.throws(
      () => readPolicy({ headers: { 'x-polygate-provider': '{"a":1}' }, slugs }),
      refusal('x-polygate-provider.a', /allowed: order/),
    );
    const body = { provider: { sort: 'price' } };
    assert.throws(
      () => readPolicy({ body, headers: { 'x-polygate-provider': '{"a":1}' }, slugs }),
      refusal('x-polygate-provider.a', /allowed/),
    );
  });
});

describe('model name suffixes', () => {
  const known = new Set(['a/m', 'a/m:free', 'a/odd:floor']);
  const split = (name: string) => splitModelName(name, (text) => known.has(text), slugs);

  const NAMES: [string, string, Partial<RoutingPolicy>][] = [
    ['a/m', 'a/m', {}],
    ['a/m:floor', 'a/m', { sort: 'price' }],
    ['a/m:nitro', 'a/m', { sort: 'throughput' }],
    ['a/m:exacto', 'a/m', { sort: 'throughput' }],
    ['a/m:openai', 'a/m', { pin: openai }],
    ['a/m:free', 'a/m:free', {}],
    ['a/m:free:floor', 'a/m:free', { sort: 'price' }],
    ['a/odd:floor', 'a/odd:floor', {}],
    ['a/m:8b', 'a/m:8b', {}],
    ['a/m:constructor', 'a/m:constructor', {}],
    [':floor', ':floor', {}],
  ];
  for (const [text, name, overrides] of NAMES) {
    test(text, () => assert.deepEqual(split(text), { name, overrides }));
  }
});

function refusal(param: string, message: RegExp) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, 'invalid_request');
    assert.equal(error.param, param);
    assert.match(error.message, message);
    assert.ok(error.message.includes(param), error.message);
    return true;
  };
}

function defined(value: Json): Json {
  return JSON.parse(JSON.stringify(value));
}
