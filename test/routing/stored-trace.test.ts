/** Size of stored traces, whatever a client, an upstream and a price list say. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attempt } from '../../src/routing/attempt.ts';
import type { RoutingDecision } from '../../src/routing/decision.ts';
import { NO_POLICY } from '../../src/routing/policy.ts';
import { decodeStoredTrace, storedTraceOf, type TracedRequest } from '../../src/routing/stored-trace.ts';
import { encodeResponseHeaders } from '../../src/routing/traced-headers.ts';

const LONG = '"\\ü'.repeat(2000);
const HEADERS = ['user-agent', 'anthropic-version', 'anthropic-beta', 'openai-beta', 'x-goog-api-client'];

function attempt(changes: Partial<Attempt> = {}): Attempt {
  const plain = {
    endpoint: 'openai/gpt-5',
    model: 'gpt-5',
    path: 'passthrough',
    status: 200,
    milliseconds: 12.4,
  } as const;
  return { ...plain, dropped: [], connected: 0, firstByte: 10.2, ...changes };
}

interface Changes extends Partial<Omit<TracedRequest, 'charge'>> {
  charge?: ReturnType<TracedRequest['charge']>;
}

function traced({ charge = { basis: 'i12x0.000001', tier: undefined }, ...changes }: Changes = {}) {
  const decision = { candidates: [], excluded: [], policy: NO_POLICY } as unknown as RoutingDecision;
  const call = { headers: {}, body: {}, operation: {} };
  const request = { call, decision, attempts: [attempt()], begins: [1], checked: 2, isComplete: true, ...changes };
  const text = storedTraceOf({ ...request, charge: () => charge }, 'all') ?? '';
  assert.ok(Buffer.byteLength(text) <= 4096, `${Buffer.byteLength(text)} bytes`);
  const trace = decodeStoredTrace(text);
  assert.ok(trace, text);
  return trace;
}

/** Candidates of a routing decision, which a trace has where there was a choice. */
function candidates(count: number, model: string): RoutingDecision {
  const of = (index: number) => ({ provider: `provider-${index}`, model, upstreamModel: model, pricing: {} });
  const list = Array.from({ length: count }, (_, index) => of(index));
  return { requested: model, model, candidates: list, excluded: [], policy: NO_POLICY } as unknown as RoutingDecision;
}

test('a plain trace says how a request was charged', () => {
  const trace = traced();
  assert.deepEqual([trace.charge, trace.tier, trace.attempts[0]?.total_ms], ['i12x0.000001', null, 12]);
  const tier = { name: 'priority', isAssumed: true };
  assert.deepEqual(traced({ charge: { basis: 'provider', tier } }).tier, tier);
});

test('a trace is short and whole with the longest texts', () => {
  const call = {
    headers: Object.fromEntries([...HEADERS, 'x-session-id'].map((name) => [name, LONG])),
    body: {},
    operation: {},
  };
  const headers = encodeResponseHeaders(429, { 'retry-after': LONG, 'x-request-id': LONG });
  const long = attempt({ endpoint: LONG, note: LONG, headers, dropped: Array.from({ length: 50 }, () => LONG) });
  const charge = { basis: `i12x0.${'1'.repeat(900)}`, tier: { name: LONG, isAssumed: true } };
  for (const attempts of [[attempt()], [attempt({ headers })]])
    assert.deepEqual([traced({ call, attempts, charge }).charge, attempts.length], [charge.basis, 1]);
  // One keeps its charge; of eight, the attempts are kept before it.
  const [one, eight] = [[long], Array.from({ length: 8 }, () => long)];
  assert.deepEqual([traced({ call, attempts: one, charge }).attempts.length], [1]);
  assert.deepEqual([traced({ call, attempts: eight, charge }).attempts.length], [8]);
  const plainNames = { ...call, headers: { ...call.headers, 'x-session-id': 's'.repeat(200) } };
  const plain = attempt({ endpoint: `openai/${'m'.repeat(193)}`, headers });
  assert.equal(traced({ call: plainNames, attempts: [plain], charge }).charge, charge.basis);
});

test('an endpoint is named once, with the last reason for which it was left out', () => {
  const of = (id: string) => ({ id, provider: id, model: 'm', upstreamModel: 'm', pricing: {} });
  const excluded = ['in cooldown', 'over its limit'].map((reason) => ({ candidate: of('a'), reason }));
  const decision = { ...candidates(0, 'm'), candidates: [of('a'), of('b')], excluded } as unknown as RoutingDecision;
  assert.deepEqual(
    traced({ decision }).candidates.map(({ endpoint, left_out }) => [endpoint, left_out]),
    [
      ['b/m', undefined],
      ['a/m', 'over its limit'],
    ],
  );
});

test('of many candidates the last ones are left out before the charge', () => {
  assert.equal(traced({ decision: candidates(20, 'model') }).candidates.length, 20);
  const trace = traced({ decision: candidates(200, 'm'.repeat(150)) });
  assert.ok(trace.candidates.length > 1 && trace.candidates.length < 200, `${trace.candidates.length}`);
  assert.equal(trace.charge, 'i12x0.000001');
});

test('a basis that is too long is left out', () => {
  const trace = traced({ charge: { basis: `i12x0.${'1'.repeat(5000)}`, tier: undefined } });
  assert.deepEqual([trace.charge, trace.attempts.length], [null, 1]);
});
