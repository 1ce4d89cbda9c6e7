/** Memory about endpoints: health, speed, retries, conversations. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ErrorCode, GatewayError } from '../../src/core/errors.ts';
import { createCircuitBreaker } from '../../src/routing/circuit-breaker.ts';
import { createConversationBindings } from '../../src/routing/conversation-bindings.ts';
import { mayFallBack } from '../../src/routing/fallback.ts';
import { createLatencyStatistics } from '../../src/routing/latency-statistics.ts';
import { createRetryBudget } from '../../src/routing/retry-budget.ts';

function failure(upstreamStatus?: number, retryAfter?: number, code: ErrorCode = 'upstream_error'): GatewayError {
  return new GatewayError(code, 'Failed.', { upstreamStatus, retryAfter });
}

function clock() {
  let moment = 0;
  return {
    now: () => moment,
    pass: (milliseconds: number) => {
      moment += milliseconds;
    },
  };
}

describe('circuit breaker', () => {
  function rig() {
    const { now, pass } = clock();
    const health = createCircuitBreaker({ cooldown: () => 10_000, now });
    const fail = (...errors: GatewayError[]) => {
      for (const error of errors) health.begin('a').failed(error);
    };
    return { health, pass, fail };
  }

  test('of more than 10,000 endpoints with failures, the first is forgotten', () => {
    const { health } = rig();
    for (let index = 0; index <= 10_000; index++) health.begin(`e${index}`).failed(failure(429));
    assert.equal(health.cooldown('e0'), undefined);
    assert.notEqual(health.cooldown('e1'), undefined);
  });

  test('a circuit that another process has opened is open, unless its own cooldown ends later', () => {
    const { health, pass, fail } = rig();
    health.adopt({ id: 'a', cause: 'rate_limit_exceeded', milliseconds: 5000 });
    assert.deepEqual(health.cooldown('a'), { cause: 'rate_limit_exceeded', milliseconds: 5000 });
    fail(failure(429, 60_000));
    health.adopt({ id: 'a', cause: 'overloaded', milliseconds: 5000 });
    assert.equal(health.cooldown('a')?.milliseconds, 60_000);
    pass(60_000);
    health.begin('a').succeeded();
    assert.equal(health.cooldown('a'), undefined);
    for (let index = 0; index <= 10_000; index++) health.adopt({ id: `e${index}`, cause: 'x', milliseconds: 1000 });
    assert.equal(health.cooldown('e0'), undefined);
  });

  test('a circuit that opens is told once, with its cooldown', () => {
    const told: object[] = [];
    const { now } = clock();
    const health = createCircuitBreaker({ cooldown: () => 10_000, now, onCooldown: (circuit) => told.push(circuit) });
    for (const error of [failure(), failure(), failure(), failure(429)]) health.begin('a').failed(error);
    assert.deepEqual(told, [{ id: 'a', cause: 'upstream_error', milliseconds: 10_000 }]);
  });

  test('a rate limit starts a cooldown at once, for its retry-after or the configured time', () => {
    for (const status of [429, 529]) {
      const { health, pass, fail } = rig();
      fail(failure(status));
      assert.equal(health.cooldown('a')?.milliseconds, 10_000);
      pass(10_000);
      assert.equal(health.cooldown('a'), undefined);
    }
    const { health, fail } = rig();
    fail(failure(503, 2000));
    assert.equal(health.cooldown('a')?.milliseconds, 2000);
    fail(failure(429, 60_000));
    assert.equal(health.cooldown('a')?.milliseconds, 60_000);
    fail(failure(429, 3_600_000_000));
    assert.equal(health.cooldown('a')?.milliseconds, 3_600_000);
    fail(failure(429, 1));
    assert.equal(health.cooldown('a')?.milliseconds, 3_600_000);
  });

  test('a retry-after of nothing starts a cooldown of a second, or of the configured time if that is shorter', () => {
    for (const retryAfter of [0, 5]) {
      const { health, pass, fail } = rig();
      fail(failure(429, retryAfter));
      assert.equal(health.cooldown('a')?.milliseconds, 1000);
      pass(1000);
      fail(failure(429, retryAfter));
      assert.equal(health.cooldown('a')?.milliseconds, 1000);
    }
    const health = createCircuitBreaker({ cooldown: () => 300, now: () => 0 });
    health.begin('a').failed(failure(429, 0));
    assert.equal(health.cooldown('a')?.milliseconds, 300);
  });

  test('other failures start a cooldown after three in a row', () => {
    const { health, fail } = rig();
    fail(failure(500), failure());
    assert.equal(health.cooldown('a'), undefined);
    assert.ok(health.failedRecently('a'));
    health.begin('a').succeeded();
    assert.ok(!health.failedRecently('a'));
    fail(failure(500), failure(), failure(502));
    assert.deepEqual(health.cooldown('a'), { cause: 'upstream_error', milliseconds: 10_000 });
  });

  test('after the cooldown one probe is sent; its failure doubles the cooldown, up to five minutes', () => {
    const { health, pass, fail } = rig();
    fail(failure(429));
    for (const rest of [20_000, 40_000, 80_000, 160_000, 300_000, 300_000]) {
      pass(300_001);
      const probe = health.begin('a');
      assert.deepEqual(health.cooldown('a'), { cause: 'upstream_error' });
      probe.failed(failure(500));
      assert.equal(health.cooldown('a')?.milliseconds, rest);
    }
    pass(300_001);
    health.begin('a').succeeded();
    assert.equal(health.cooldown('a'), undefined);
  });

  test('a probe whose answer has begun keeps nobody waiting, and counts until its end', () => {
    for (const end of ['succeeded', 'abandoned', 'failed'] as const) {
      const { health, pass, fail } = rig();
      fail(failure(429));
      pass(10_001);
      const probe = health.begin('a');
      probe.answers();
      assert.deepEqual(
        [health.cooldown('a'), health.failedRecently('a'), health.failures()],
        [undefined, false, []],
        'others may use it',
      );
      if (end === 'failed') probe.failed(failure());
      else probe[end]();
      assert.equal(health.cooldown('a')?.milliseconds, end === 'failed' ? 20_000 : undefined);
      if (end === 'abandoned') fail(failure(500));
      assert.equal(health.cooldown('a')?.milliseconds, end === 'succeeded' ? undefined : 20_000);
    }
    const { health, fail } = rig();
    const early = health.begin('a');
    fail(failure(429));
    early.answers();
    assert.equal(health.cooldown('a')?.milliseconds, 10_000, 'it was no probe');
  });

  test('an abandoned probe lets the next request probe', () => {
    const { health, pass, fail } = rig();
    fail(failure(429));
    pass(10_001);
    const probe = health.begin('a');
    assert.ok(health.cooldown('a'));
    probe.abandoned();
    assert.equal(health.cooldown('a'), undefined);
  });

  test('a success that began before the cooldown does not end it, one that began during it does', () => {
    const { health, fail } = rig();
    const early = health.begin('a');
    fail(failure(429));
    early.succeeded();
    assert.ok(health.cooldown('a'));
    health.begin('a').succeeded();
    assert.equal(health.cooldown('a'), undefined);
  });

  test('requests in flight do not affect a probe', () => {
    const { health, pass, fail } = rig();
    const early = health.begin('a');
    fail(failure(429));
    pass(10_001);
    const probe = health.begin('a');
    early.failed(failure(500));
    health.begin('a').succeeded();
    assert.ok(health.cooldown('a'), 'the probe is still on its way');
    probe.failed(failure(500));
    assert.equal(health.cooldown('a')?.milliseconds, 20_000);
  });
});

describe('statistics', () => {
  test('percentiles are those of the last five minutes', () => {
    const { now, pass } = clock();
    const statistics = createLatencyStatistics(now);
    assert.equal(statistics.latency('a', 'p50'), undefined);
    for (let count = 1; count <= 100; count++) {
      statistics.record('a', { firstByte: count * 10, total: count * 10 + 1000, tokens: count });
    }
    const latencies = (['p50', 'p75', 'p90', 'p99'] as const).map((name) => statistics.latency('a', name));
    assert.deepEqual(latencies, [0.5, 0.75, 0.9, 0.99]);
    const throughputs = (['p50', 'p75', 'p90', 'p99'] as const).map((name) => statistics.throughput('a', name));
    assert.deepEqual(throughputs, [51, 26, 11, 2]);
    pass(200_000);
    statistics.record('whole', { firstByte: 2000, total: 2001, tokens: 40, isStreamed: false });
    statistics.record('burst', { firstByte: 2000, total: 2005, tokens: 40 });
    assert.deepEqual(
      ['whole', 'burst'].map((id) => Math.round(statistics.throughput(id, 'p50') ?? 0)),
      [20, 20],
    );
    statistics.record('a', { firstByte: 5000, total: 5000 });
    pass(100_001);
    assert.equal(statistics.latency('a', 'p50'), 5);
    assert.equal(statistics.throughput('a', 'p50'), undefined);
    pass(200_000);
    assert.equal(statistics.latency('a', 'p99'), undefined);
  });

  test('a first sample is expected until it comes, for a minute', () => {
    const { now, pass } = clock();
    const statistics = createLatencyStatistics(now);
    assert.ok(!statistics.isExpected('a'));
    statistics.expect('a');
    assert.ok(statistics.isExpected('a'));
    assert.equal(statistics.latency('a', 'p50'), undefined);
    pass(60_000);
    assert.ok(!statistics.isExpected('a'));
    statistics.expect('a');
    statistics.record('a', { firstByte: 1000, total: 1000 });
    statistics.expect('a');
    assert.ok(!statistics.isExpected('a'));
    pass(300_001);
    statistics.expect('a');
    assert.ok(statistics.isExpected('a'), 'the samples are too old');
    for (let count = 0; count < 10_000; count++) statistics.expect(String(count));
    assert.ok(statistics.endpoints().length <= 10_000);
  });

  test('the number of samples is bounded', () => {
    const statistics = createLatencyStatistics(() => 0);
    for (let count = 0; count < 2000; count++) statistics.record('a', { firstByte: count * 1000, total: 0 });
    assert.equal(statistics.latency('a', 'p50'), 1749);
  });

  test('the number of endpoints is bounded: those that were asked last stay', () => {
    const { now, pass } = clock();
    const statistics = createLatencyStatistics(now);
    for (let count = 0; count < 10_001; count++) {
      pass(1);
      if (count === 10_000) statistics.record('0', { firstByte: 2000, total: 2000 });
      statistics.record(String(count), { firstByte: 1000, total: 1000 });
    }
    assert.equal(statistics.endpoints().length, 9001);
    assert.equal(statistics.latency('0', 'p99'), 2);
    assert.equal(statistics.latency('1', 'p99'), undefined);
    assert.equal(statistics.latency('10000', 'p99'), 1);
  });
});

describe('the retry budget', () => {
  function spendAll(budget: ReturnType<typeof createRetryBudget>): number {
    let spent = 0;
    while (budget.tryWithdraw()) spent++;
    return spent;
  }

  test('allows a reserve plus a tenth of the requests', () => {
    const budget = createRetryBudget(() => 0);
    for (let count = 0; count < 50; count++) budget.deposit();
    assert.equal(spendAll(budget), 15);
    for (let count = 0; count < 9; count++) budget.deposit();
    assert.equal(spendAll(budget), 0);
    budget.deposit();
    assert.equal(spendAll(budget), 1);
    for (let count = 0; count < 5000; count++) budget.deposit();
    assert.equal(spendAll(budget), 100);
  });

  test('the reserve refills by one per second', () => {
    const { now, pass } = clock();
    const budget = createRetryBudget(now);
    assert.equal(spendAll(budget), 10);
    pass(2500);
    assert.equal(spendAll(budget), 2);
    pass(600_000);
    assert.equal(spendAll(budget), 10);
  });
});

test('a conversation is bound for ten minutes from its last answer', () => {
  const { now, pass } = clock();
  const bindings = createConversationBindings(now);
  bindings.bind('c', 'a');
  pass(599_000);
  bindings.bind('c', 'b');
  pass(599_000);
  assert.equal(bindings.endpointOf('c'), 'b');
  pass(1000);
  assert.equal(bindings.endpointOf('c'), undefined);
  assert.equal(bindings.endpointOf('d'), undefined);
});

test('only upstream failures allow a fallback', () => {
  for (const status of [408, 429, 500, 502, 503, 504, 520, 529])
    assert.ok(mayFallBack(failure(status)), String(status));
  for (const status of [400, 401, 402, 403, 404, 409, 413, 422, 451])
    assert.ok(!mayFallBack(failure(status)), String(status));
  const codes: [ErrorCode, boolean][] = [
    ['upstream_error', true],
    ['timeout', true],
    ['overloaded', true],
    ['rate_limit_exceeded', true],
    ['unavailable', true],
    ['content_policy_violation', false],
    ['invalid_request', false],
    ['context_length_exceeded', false],
    ['internal_error', false],
    ['client_closed', false],
  ];
  for (const [code, helps] of codes) {
    assert.equal(mayFallBack(failure(undefined, undefined, code)), helps, code);
    assert.equal(mayFallBack(failure(0, undefined, code)), helps, code);
  }
});
