/** Reservation: tokens and cost reserved from the limits of a key for a call, and the resulting output limits. */

import { affordableOutput, type CostBounds, costBoundsOf, type MaxUsage, maxCostOf } from '../../catalog/max-cost.ts';
import { possiblePrices } from '../../catalog/service-tiers.ts';
import { maxBigInt } from '../../core/money.ts';
import { joinOutput, type OutputLimit, type RequestedOutput } from '../../core/output.ts';
import { isPriced } from '../../core/prices.ts';
import { upstreamProtocolOf } from '../../protocols/index.ts';
import type { RoutingDecision } from '../../routing/decision.ts';
import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import { askedTier } from './asked-tier.ts';
import { DEFAULT_SEARCHES, type ExpectedUsage } from './expected-usage.ts';

export interface Reservation {
  /** Input and output tokens, for the token limit per minute. */
  readonly tokens: number;
  /** Maximum cost in 1e-12 USD over all candidates. */
  readonly cost: bigint;
  /**
   * Smallest acceptable reservation, in 1e-12 USD: with the minimum output, and with hidden input as it usually is. Absent if the
   * client sets an output limit and all input is known.
   */
  readonly minCost?: bigint | undefined;
  /** The input of a further request that continues the answer: its output is within the reservation. */
  round(): { cost: bigint; minCost: bigint };
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
/** The most tokens that providers count for an image: 10,000 patches of 1.2 tokens by OpenAI; Claude and Gemini count fewer. */
const MAX_IMAGE_TOKENS = 12_000;
/** Input tokens that the results of a search add: OpenAI bills so many for small models, and others what the results have. */
const SEARCH_TOKENS = 8000;
/** The same of a search in stored files: 20 pieces of 800 tokens, as OpenAI stores and returns them by default. */
const FILE_SEARCH_TOKENS = 16_000;
/** Output tokens of images that a tool makes in an answer: three large ones. */
const IMAGE_TOOL_TOKENS = 20_000;
/** Tokens of a context whose length is not known. */
const DEFAULT_CONTEXT_TOKENS = 200_000;

export function reservationOf(
  call: InferenceCall,
  { candidates }: Pick<RoutingDecision, 'candidates'>,
  expected: ExpectedUsage,
): Reservation {
  const outputOf = (endpoint: Endpoint) => new EndpointOutput(call, endpoint, expected);
  return new AnswerReservation(candidates, outputOf, expected);
}

/** Costs are computed where a budget asks for them. */
class AnswerReservation implements Reservation {
  readonly tokens: number;
  readonly #outputs: readonly EndpointOutput[];
  readonly #outputOf: (endpoint: Endpoint) => EndpointOutput;
  readonly #isOpen: boolean;
  readonly #isUnknown: boolean;
  readonly #mayBeLonger: boolean;

  constructor(
    candidates: RoutingDecision['candidates'],
    outputOf: (endpoint: Endpoint) => EndpointOutput,
    expected: ExpectedUsage,
  ) {
    const outputs = candidates.map(({ endpoint }) => outputOf(endpoint));
    this.tokens = expected.input + Math.max(0, ...outputs.map((one) => one.inAll(defaultTokens(one))));
    this.#outputs = outputs;
    this.#outputOf = outputOf;
    this.#isOpen = outputs.every(({ asked }) => asked.limit === undefined);
    this.#isUnknown = outputs.some(({ endpoint }) => isBilledLater(endpoint));
    this.#mayBeLonger = mayBeLonger(expected);
  }

  get cost(): bigint {
    const known = highest(this.#outputs, (one) => maxCostWith(one.whole, one.inAll(one.tokens)));
    return maxBigInt(known, this.#isUnknown ? UNKNOWN_COST : 0n);
  }

  get minCost(): bigint | undefined {
    if (!this.#isOpen && !this.#isUnknown && !this.#mayBeLonger) return undefined;
    const tokensOf = this.#isOpen ? minTokens : ({ tokens }: EndpointOutput) => tokens;
    const known = highest(this.#outputs, (one) => maxCostWith(one.seen, one.inAll(tokensOf(one))));
    return maxBigInt(known, this.#isUnknown ? MIN_UNKNOWN_COST : 0n);
  }

  round(): { cost: bigint; minCost: bigint } {
    const cost = highest(this.#outputs, (one) => maxCostWith(one.whole, 0));
    return { cost, minCost: highest(this.#outputs, (one) => maxCostWith(one.seen, 0)) };
  }

  limitsFor(money: bigint): (endpoint: Endpoint) => OutputLimit {
    return (endpoint) => {
      const known = this.#outputs.find((one) => one.endpoint === endpoint);
      return (known ?? this.#outputOf(endpoint)).limitFor(money);
    };
  }
}

/** Output that an endpoint may answer with, and the bounds of its cost. */
class EndpointOutput {
  readonly endpoint: Endpoint;
  readonly asked: RequestedOutput;
  /** Output tokens of one answer, without separate reasoning tokens. */
  readonly tokens: number;
  readonly #isKnown: boolean;
  readonly #call: InferenceCall;
  readonly #expected: ExpectedUsage;
  #seen: readonly CostBounds[] | undefined;
  #whole: readonly CostBounds[] | undefined;

  constructor(call: InferenceCall, endpoint: Endpoint, expected: ExpectedUsage) {
    const { model, options, dialect } = endpoint;
    const own = call.protocol.operations.complete.outputOf(call.body);
    const asked = options
      ? joinOutput(own, upstreamProtocolOf(dialect.protocol).operations.complete.outputOf(options))
      : own;
    const longest = model.maxOutput > 0 ? Math.min(model.maxOutput, MAX_OUTPUT_TOKENS) : undefined;
    this.endpoint = endpoint;
    this.asked = asked;
    this.tokens = Math.min(asked.limit ?? longest ?? DEFAULT_OUTPUT_TOKENS, longest ?? MAX_OUTPUT_TOKENS);
    this.#isKnown = longest !== undefined;
    this.#call = call;
    this.#expected = expected;
  }

  /** Bounds of the cost by each of the prices that the request may be charged by, with the input that the gateway sees. */
  get seen(): readonly CostBounds[] {
    this.#seen ??= this.#boundsFor(this.#expected);
    return this.#seen;
  }

  /** The same, with the longest input that the request may have. */
  get whole(): readonly CostBounds[] {
    if (!mayBeLonger(this.#expected)) return this.seen;
    this.#whole ??= this.#boundsFor(longestInput(this.#expected, this.endpoint), SEARCH_TOKENS);
    return this.#whole;
  }

  /** Output tokens of all answers, with separate reasoning tokens. */
  inAll(tokens: number): number {
    return (tokens + this.asked.thinking) * Math.min(this.asked.answers, Number.MAX_SAFE_INTEGER);
  }

  limitFor(money: bigint): OutputLimit {
    const { answers, thinking } = this.asked;
    const affordable = Math.min(...this.seen.map((bounds) => affordableOutput(bounds, money)));
    if (affordable >= this.inAll(this.tokens))
      return { tokens: this.tokens, answers, isExplicit: !this.#isKnown && affordable < UNLIMITED };
    return { tokens: Math.max(1, Math.floor(affordable / answers) - thinking), answers, isExplicit: true };
  }

  /** `tokens`: input that each search adds. */
  #boundsFor(usage: ExpectedUsage, tokens = 0): CostBounds[] {
    const { model, dialect } = this.endpoint;
    const isOwn = dialect.protocol === this.#call.protocol.id;
    const searching = { ...usage, searches: searchesOf(usage.searches, this.asked, isOwn) };
    const { tools = {} } = usage;
    const fileSearches = tools.files ? searchesOf(DEFAULT_SEARCHES, this.asked, isOwn) : 0;
    const most: MaxUsage = {
      ...searching,
      fileSearches,
      input: searching.input + searching.searches * tokens + (tokens > 0 ? fileSearches * FILE_SEARCH_TOKENS : 0),
      containers: tools.containers ?? 0,
      mapRequests: tools.maps ? 1 : 0,
    };
    if (tokens > 0 && tools.images) most.imageToolOutput = IMAGE_TOOL_TOKENS;
    return possiblePrices(model, askedTier(this.#call, this.endpoint)).map((prices) => costBoundsOf(prices, most));
  }
}

function maxCostWith(bounds: readonly CostBounds[], output: number): bigint {
  return highest(bounds, (bound) => maxCostOf(bound, output));
}

function highest<Item>(items: readonly Item[], costOf: (item: Item) => bigint): bigint {
  return items.reduce((most, item) => maxBigInt(most, costOf(item)), 0n);
}

/** A limit reaches upstreams of the client's own protocol; others may search as often as without one. */
function searchesOf(expected: number, asked: RequestedOutput, isOwnProtocol: boolean): number {
  if (expected === 0 || asked.searches === undefined) return expected;
  const limit = Math.min(asked.searches, MAX_SEARCHES);
  return isOwnProtocol ? limit : Math.max(limit, expected);
}

function defaultTokens({ asked, tokens }: EndpointOutput): number {
  return asked.limit === undefined ? Math.min(tokens, DEFAULT_OUTPUT_TOKENS) : tokens;
}

function minTokens({ tokens }: EndpointOutput): number {
  return Math.min(tokens, MIN_OUTPUT_TOKENS);
}

const UNLIMITED = Number.POSITIVE_INFINITY;

/** Whether the price becomes known with the response, which is charged by it. */
export function isBilledLater({ provider, model }: Endpoint): boolean {
  return provider.billsReportedCost === true && !isPriced(model);
}

/** Whether the input may have more tokens than the estimate says: the gateway does not see all of it, it has images, or searches and images that a tool makes add to it. */
export function mayBeLonger({ hidesInput, images, searches, tools }: ExpectedUsage): boolean {
  return hidesInput || images > 0 || searches > 0 || tools?.images === true || tools?.files === true;
}

/** Expected usage with the longest input: the context of the model where some of it is hidden, and the most tokens for each image. */
export function longestInput(expected: ExpectedUsage, { model }: Endpoint): ExpectedUsage {
  const { input, audioInput, imageInput, images, hidesInput, hidesAudio } = expected;
  const context = model.contextLength > 0 ? model.contextLength : DEFAULT_CONTEXT_TOKENS;
  const imageTokens = Math.max(imageInput, Math.min(context, images * (model.rules.imageTokens ?? MAX_IMAGE_TOKENS)));
  const longest = Math.max(input, hidesInput ? context : Math.min(context, input - imageInput + imageTokens));
  return {
    ...expected,
    input: longest,
    imageInput: Math.min(imageTokens, longest),
    audioInput: hidesAudio ? Math.max(audioInput, longest - imageInput) : audioInput,
  };
}
