/** The order in which candidates are tried. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Candidate } from '../../src/routing/candidate.ts';
import { NO_POLICY, type RoutingPolicy } from '../../src/routing/policy.ts';
import { type RankingContext, rank } from '../../src/routing/ranking.ts';
import { rendezvousScore } from '../../src/routing/rendezvous.ts';

function candidate(id: string, more: Partial<Candidate> = {}): Candidate {
  const names = { id, model: 'house/m', provider: id, type: 'kind', upstreamModel: 'm' };
  return { ...names, rank: 0, pricing: {}, priority: 0, siblings: 1, facts: {}, ...more };
}

const UNKNOWN: RankingContext['statistics'] = {
  latency: () => undefined,
  throughput: () => undefined,
  isExpected: () => false,
};

interface Known {
  expected?: string[];
  latency?: Record<string, number>;
  throughput?: Record<string, number>;
  lately?: string[];
  inCooldown?: string[];
  holder?: string;
}

function order(candidates: Candidate[], policy: Partial<RoutingPolicy> = {}, known: Known = {}): string {
  const situation: RankingContext = {
    breaker: {
      cooldown: (id) => (known.inCooldown?.includes(id) ? { cause: 'overloaded', milliseconds: 1500 } : undefined),
      failedRecently: (id) => known.lately?.includes(id) ?? false,
    },
    statistics: {
      latency: (id) => known.latency?.[id],
      throughput: (id) => known.throughput?.[id],
      isExpected: (id) => known.expected?.includes(id) ?? false,
    },
    conversation: 'c',
    holder: known.holder,
  };
  const { ranked } = rank(candidates, { ...NO_POLICY, ...policy }, situation);
  return ranked.map(({ id }) => id).join(' ');
}

const priced = (id: string, price: string, more = {}) =>
  candidate(id, { pricing: { prompt: price, completion: price }, ...more });
const by = (provider: string) => ({ text: provider, provider });
const a = candidate('a', { priority: 0 });
const b = candidate('b', { priority: 1 });
const c = candidate('c', { priority: 2 });

describe('order', () => {
  const CASES: [name: string, Candidate[], Partial<RoutingPolicy>, Known, string][] = [
    ['priorities', [c, b, a], {}, {}, 'a b c'],
    ['an explicit order, then priorities', [a, b, c], { order: [by('c')] }, {}, 'c a b'],
    ['price', [priced('a', '0.3'), priced('b', '0.1'), candidate('c')], { sort: 'price' }, {}, 'b a c'],
    ['latency', [a, b], { sort: 'latency' }, { latency: { a: 2, b: 1 } }, 'b a'],
    ['what has no latency yet, to learn it', [a, b], { sort: 'latency' }, { latency: { a: 2 } }, 'b a'],
    ['throughput', [a, b], { sort: 'throughput' }, { throughput: { a: 10, b: 20 } }, 'b a'],
    ['what has no throughput yet', [a, b], { sort: 'throughput' }, { throughput: { a: 10 } }, 'b a'],
    ['what is being measured comes last', [a, b], { sort: 'latency' }, { latency: { b: 1 }, expected: ['a'] }, 'b a'],
    ['so for throughput', [a, b], { sort: 'throughput' }, { throughput: { b: 1 }, expected: ['a'] }, 'b a'],
    ['preferred latency', [a, b], { preferredLatency: { p50: 1 } }, { latency: { a: 2, b: 1 } }, 'b a'],
    ['preferred throughput', [a, b], { preferredThroughput: { p90: 15 } }, { throughput: { a: 10, b: 20 } }, 'b a'],
    ['preferences that nobody meets', [a, b], { preferredLatency: { p50: 1 } }, { latency: { a: 2, b: 3 } }, 'a b'],
    ['failures lately', [a, b, c], {}, { lately: ['a'] }, 'b c a'],
    ['who holds the state', [a, b, c], {}, { holder: 'c' }, 'c a b'],
    ['the state before the price', [priced('a', '0.3'), priced('b', '0.1')], { sort: 'price' }, { holder: 'a' }, 'a b'],
    ['an order before the state', [a, b], { order: [by('a')] }, { holder: 'b' }, 'a b'],
    ['cooldown', [a, b, c], {}, { inCooldown: ['a'] }, 'b c'],
    ['all in cooldown', [a, b], {}, { inCooldown: ['a', 'b'] }, 'a'],
    ['no fallbacks', [a, b], { allowFallbacks: false }, {}, 'a'],
    ['no fallbacks, and an order', [a, b], { allowFallbacks: false, order: [by('b')] }, {}, 'b'],
    ['models', [candidate('a', { rank: 1 }), b], {}, {}, 'b a'],
    ['a price within each model', [priced('a', '1'), priced('b', '0.1', { rank: 1 })], { sort: 'price' }, {}, 'a b'],
    [
      'a price across models',
      [priced('a', '1'), priced('b', '0.1', { rank: 1 })],
      { sort: 'price', acrossModels: true },
      {},
      'b a',
    ],
  ];
  for (const [name, candidates, policy, known, expected] of CASES) {
    test(name, () => assert.equal(order(candidates, policy, known), expected));
  }
});

describe('weights', () => {
  function share(candidates: Candidate[], first: string): number {
    let count = 0;
    for (let index = 0; index < 2000; index++) {
      const situation: RankingContext = {
        breaker: { cooldown: () => undefined, failedRecently: () => false },
        statistics: UNKNOWN,
        conversation: `conversation ${index}`,
      };
      if (rank(candidates, NO_POLICY, situation).ranked[0]?.id === first) count++;
    }
    return count / 2000;
  }

  const near = (value: number, expected: number) => assert.ok(Math.abs(value - expected) < 0.04, `${value}`);

  test('are shares of the conversations', () => {
    near(share([candidate('a', { weight: 3 }), candidate('b', { weight: 1 })], 'a'), 0.75);
  });

  test('are the inverse square of the price where nothing is configured', () => {
    near(share([priced('a', '0.000001'), priced('b', '0.000002')], 'a'), 0.8);
    near(share([candidate('a'), candidate('b')], 'a'), 0.5);
    near(share([priced('a', '0'), priced('b', '0')], 'a'), 0.5);
  });

  test('of a fallback model are no weights of the requested one', () => {
    const fallback = candidate('c', { weight: 5, rank: 1 });
    near(share([priced('a', '0.000001'), priced('b', '0.000002'), fallback], 'a'), 0.8);
  });

  test('are shared by the credentials of a provider', () => {
    const keys = [candidate('a1', { siblings: 2 }), candidate('a2', { siblings: 2 })];
    near(share([...keys, candidate('b')], 'b'), 0.5);
  });

  test('spread conversations over endpoints whose names hardly differ', () => {
    const names = Array.from({ length: 8 }, (_, index) => `provider/model#${index}`);
    const counts = new Map(names.map((name) => [name, 0]));
    for (let index = 0; index < 8000; index++) {
      const conversation = String(index).padStart(22, 'A');
      const [first = ''] = names.toSorted(
        (one, other) => rendezvousScore(conversation, one, 1) - rendezvousScore(conversation, other, 1),
      );
      counts.set(first, (counts.get(first) ?? 0) + 1);
    }
    for (const [name, count] of counts) assert.ok(count > 880 && count < 1120, `${name}: ${count}`);
  });

  test('when an endpoint drops out only its conversations move', () => {
    for (let index = 0; index < 200; index++) {
      const scores = ['a', 'b', 'c'].map((id) => [id, rendezvousScore(`c${index}`, id, 1)] as const);
      const sorted = scores.toSorted((one, other) => one[1] - other[1]).map(([id]) => id);
      const without = sorted.filter((id) => id !== 'a');
      const left = scores.filter(([id]) => id !== 'a').toSorted((one, other) => one[1] - other[1]);
      assert.deepEqual(
        left.map(([id]) => id),
        without,
      );
    }
  });
});

test('every candidate that is not tried has a reason', () => {
  const situation: RankingContext = {
    breaker: { cooldown: (id) => (id === 'b' ? { cause: 'overloaded' } : undefined), failedRecently: () => false },
    statistics: UNKNOWN,
    conversation: 'c',
  };
  const unusable = candidate('d', { unusable: 'it is not ready' });
  const { ranked, excluded } = rank([a, b, c, unusable], { ...NO_POLICY, ignore: [by('c')] }, situation);
  assert.deepEqual(ranked, [a]);
  assert.deepEqual(
    excluded.map(({ candidate, reason }) => [candidate.id, reason]),
    [
      ['c', 'it is in ignore'],
      ['d', 'it is not ready'],
      ['b', 'it is being probed after overloaded'],
    ],
  );
});
