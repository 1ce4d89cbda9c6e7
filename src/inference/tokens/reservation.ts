/** Reservation: tokens and cost reserved from the limits of a key for a call, and the resulting output limits. */

import { affordableOutput, maxCostOf, type PricedModel } from '../../catalog/max-cost.ts';
import { possiblePrices } from '../../catalog/service-tiers.ts';
import { maxBigInt } from '../../core/money.ts';
import { joinOutput, type OutputLimit, type RequestedOutput } from '../../core/output.ts';
import { upstreamProtocolOf } from '../../protocols/index.ts';
import type { RoutingDecision } from '../../routing/decision.ts';
import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import { isPriced } from '../../usage/meter.ts';
import { askedTier } from './asked-tier.ts';
import type { ExpectedUsage } from './expected-usage.ts';

export interface Reservation {
  /** Input and output tokens, for the token limit per minute. */
  tokens: number;
  /** Maximum cost in 1e-12 USD over all candidates. */
  cost: bigint;
  /**
   * Smallest acceptable reservation, in 1e-12 USD: with the minimum output, and with hidden input as it usually is. Absent if the
   * client sets an output limit and all input is known.
   */
  minCost?: bigint;
  /** Output limits of an endpoint for a reservation of `money`. */
  limitsFor(money: bigint): (endpoint: Endpoint) => OutputLimit;
}

/** Output tokens assumed without a limit of the client or the catalog. */
export const DEFAULT_OUTPUT_TOKENS = 4096;
/** Output tokens below which a request is refused instead of limited. */
const MIN_OUTPUT_TOKENS = 1024;
/** Upper bound of output tokens per answer, above all real models. */
const MAX_OUTPUT_TOKENS = 10_000_000;
/** Upper bound of web searches per answer. */
const MAX_SEARCHES = 100;
/** Reservation for a model without prices whose provider reports the cost: 0.25 USD, or 0.01 where the budget leaves less. */
export const UNKNOWN_COST = 250_000_000_000n;
export const MIN_UNKNOWN_COST = 10_000_000_000n;
/** Tokens of a context whose length is not known. */
const DEFAULT_CONTEXT_TOKENS = 200_000;

interface EndpointOutput {
  /** The model with each of the prices that the request may be charged by. */
  priced: readonly PricedModel[];
  asked: RequestedOutput;
  /** Output tokens of one answer, without separate reasoning tokens. */
  tokens: number;
  isKnown: boolean;
  endpoint: Endpoint;
  /** The upstream speaks the protocol of the client. */
  isOwnProtocol: boolean;
}

export function reservationOf(
  call: InferenceCall,
  { candidates }: Pick<RoutingDecision, 'candidates'>,
  expected: ExpectedUsage,
): Reservation {
  const outputs = candidates.map(({ endpoint }) => endpointOutputOf(call, endpoint));
  const isOpen = outputs.every(({ asked }) => asked.limit === undefined);
  const isUnknown = outputs.some(({ endpoint }) => isBilledLater(endpoint));
  const maxCost = (
    usageOf: (one: EndpointOutput) => ExpectedUsage,
    tokensOf: (one: EndpointOutput) => number,
  ): bigint => outputs.reduce((sum, one) => maxBigInt(sum, costOf(one, usageOf(one), tokensOf(one))), 0n);
  const leastCost = () => maxCost(() => expected, isOpen ? minTokens : allTokens);
  return {
    tokens: expected.input + Math.max(0, ...outputs.map((one) => outputOf(one, defaultTokens(one)))),
    cost: maxBigInt(
      maxCost((one) => withHiddenInput(expected, one.endpoint), allTokens),
      isUnknown ? UNKNOWN_COST : 0n,
    ),
    ...((isOpen || isUnknown || expected.hidesInput) && {
      minCost: maxBigInt(leastCost(), isUnknown ? MIN_UNKNOWN_COST : 0n),
    }),
    limitsFor: (money) => (endpoint) => limitOf(endpointOutputOf(call, endpoint), expected, money),
  };
}

function endpointOutputOf(call: InferenceCall, endpoint: Endpoint): EndpointOutput {
  const { model, options, dialect } = endpoint;
  const own = call.protocol.operations.complete.outputOf(call.body);
  const asked = options
    ? joinOutput(own, upstreamProtocolOf(dialect.protocol).operations.complete.outputOf(options))
    : own;
  const longest = model.maxOutput > 0 ? Math.min(model.maxOutput, MAX_OUTPUT_TOKENS) : undefined;
  const tokens = Math.min(asked.limit ?? longest ?? DEFAULT_OUTPUT_TOKENS, longest ?? MAX_OUTPUT_TOKENS);
  const priced = possiblePrices(model, askedTier(call, endpoint));
  const isOwnProtocol = dialect.protocol === call.protocol.id;
  return { priced, asked, tokens, isKnown: longest !== undefined, endpoint, isOwnProtocol };
}

function costOf(one: EndpointOutput, expected: ExpectedUsage, tokens: number): bigint {
  const most = { ...withSearches(expected, one), output: outputOf(one, tokens) };
  return maxBigInt(0n, ...one.priced.map((model) => maxCostOf(model, most)));
}

/** A limit reaches upstreams of the client's own protocol; others may search as often as without one. */
function withSearches(expected: ExpectedUsage, { asked, isOwnProtocol }: EndpointOutput): ExpectedUsage {
  if (expected.searches === 0 || asked.searches === undefined) return expected;
  const limit = Math.min(asked.searches, MAX_SEARCHES);
  return { ...expected, searches: isOwnProtocol ? limit : Math.max(limit, expected.searches) };
}

function defaultTokens({ asked, tokens }: EndpointOutput): number {
  return asked.limit === undefined ? Math.min(tokens, DEFAULT_OUTPUT_TOKENS) : tokens;
}

function allTokens({ tokens }: EndpointOutput): number {
  return tokens;
}

function minTokens({ tokens }: EndpointOutput): number {
  return Math.min(tokens, MIN_OUTPUT_TOKENS);
}

/** Output tokens of all answers, with separate reasoning tokens. */
function outputOf({ asked }: EndpointOutput, tokens: number): number {
  return (tokens + asked.thinking) * Math.min(asked.answers, Number.MAX_SAFE_INTEGER);
}

function limitOf(output: EndpointOutput, expected: ExpectedUsage, money: bigint): OutputLimit {
  const { asked, tokens, isKnown, priced } = output;
  const { answers } = asked;
  const none = { ...withSearches(expected, output), output: 0 };
  const affordable = Math.min(...priced.map((model) => affordableOutput(model, none, money)));
  if (affordable >= outputOf(output, tokens))
    return { tokens, answers, isExplicit: !isKnown && affordable < UNLIMITED };
  return { tokens: Math.max(1, Math.floor(affordable / answers) - asked.thinking), answers, isExplicit: true };
}

const UNLIMITED = Number.POSITIVE_INFINITY;

/** Whether the price becomes known with the response, which is charged by it. */
export function isBilledLater({ provider, model }: Endpoint): boolean {
  return provider.billsReportedCost === true && !isPriced(model);
}

/** Expected usage with as much input as the model can read, if the gateway does not see all of it. */
export function withHiddenInput(expected: ExpectedUsage, { model }: Endpoint): ExpectedUsage {
  if (!expected.hidesInput) return expected;
  const context = model.contextLength > 0 ? model.contextLength : DEFAULT_CONTEXT_TOKENS;
  return { ...expected, input: Math.max(expected.input, context) };
}
