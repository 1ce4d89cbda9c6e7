/** The output that is reserved of a key's budget for a call, and that no body of the call may exceed. */

import { affordableOutput, maxCostOf } from '../../catalog/max-cost.ts';
import { maxBigInt } from '../../core/money.ts';
import type { OutputLimit } from '../../core/output.ts';
import { type AskedOutput, joinOutput } from '../../core/output.ts';
import { protocolOf } from '../../protocols/index.ts';
import type { RoutingDecision } from '../../routing/decision.ts';
import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import type { ExpectedUsage } from './expected-usage.ts';

export interface Reservation {
  /** Tokens in and out that count against a limit by the minute. */
  tokens: number;
  /** In 1e-12 USD, at the dearest of the endpoints that may answer. */
  cost: bigint;
  /** What an answer of a sensible length may cost; absent where the client says how long it may be. */
  leastCost?: bigint;
  /** The limits of an endpoint after `money` was reserved. */
  limitsFor(money: bigint): (endpoint: Endpoint) => OutputLimit;
}

/** Tokens of an answer whose length neither the client nor the catalog says. */
const USUAL_OUTPUT = 4096;
/** Tokens of an answer below which a request is rather refused than cut. */
const SHORTEST_OUTPUT = 1024;
/** More than any model says in one answer. */
const MOST_OUTPUT = 10_000_000;

interface Wanted {
  endpoint: Endpoint;
  asked: AskedOutput;
  /** Tokens of one answer, without what is thought beside it. */
  tokens: number;
  isKnown: boolean;
}

export function reservationOf(
  call: InferenceCall,
  { candidates }: Pick<RoutingDecision, 'candidates'>,
  expected: ExpectedUsage,
): Reservation {
  const wanted = candidates.map(({ endpoint }) => wantedOf(call, endpoint));
  const isOpen = wanted.every(({ asked }) => asked.limit === undefined);
  const most = (tokensOf: (one: Wanted) => number): bigint =>
    wanted.reduce((sum, one) => maxBigInt(sum, costOf(one, expected, tokensOf(one))), 0n);
  return {
    tokens: expected.input + Math.max(0, ...wanted.map((one) => outputOf(one, usualTokens(one)))),
    cost: most(({ tokens }) => tokens),
    ...(isOpen && { leastCost: most(shortestTokens) }),
    limitsFor: (money) => (endpoint) => limitOf(wantedOf(call, endpoint), expected, money),
  };
}

function wantedOf(call: InferenceCall, endpoint: Endpoint): Wanted {
  const { model, options, dialect } = endpoint;
  const own = call.protocol.operations.complete.outputOf(call.body);
  const asked = options ? joinOutput(own, protocolOf(dialect.protocol).operations.complete.outputOf(options)) : own;
  const longest = model.maxOutput > 0 ? Math.min(model.maxOutput, MOST_OUTPUT) : undefined;
  const tokens = Math.min(asked.limit ?? longest ?? USUAL_OUTPUT, longest ?? MOST_OUTPUT);
  return { endpoint, asked, tokens, isKnown: longest !== undefined };
}

function costOf(one: Wanted, expected: ExpectedUsage, tokens: number): bigint {
  return maxCostOf(one.endpoint.model, { ...expected, output: outputOf(one, tokens) });
}

function usualTokens({ asked, tokens }: Wanted): number {
  return asked.limit === undefined ? Math.min(tokens, USUAL_OUTPUT) : tokens;
}

function shortestTokens({ tokens }: Wanted): number {
  return Math.min(tokens, SHORTEST_OUTPUT);
}

/** Of all answers together, with what is thought beside them. */
function outputOf({ asked }: Wanted, tokens: number): number {
  return (tokens + asked.thinking) * Math.min(asked.answers, Number.MAX_SAFE_INTEGER);
}

function limitOf(wanted: Wanted, expected: ExpectedUsage, money: bigint): OutputLimit {
  const { asked, tokens, isKnown, endpoint } = wanted;
  const { answers } = asked;
  const affordable = affordableOutput(endpoint.model, { ...expected, output: 0 }, money);
  if (affordable >= outputOf(wanted, tokens)) return { tokens, answers, isSaid: !isKnown && affordable < FREE };
  return { tokens: Math.max(1, Math.floor(affordable / answers) - asked.thinking), answers, isSaid: true };
}

const FREE = Number.POSITIVE_INFINITY;
