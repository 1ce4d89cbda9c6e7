/** Usage meter of one request: an intent before it is sent, a record and the settlement when it ends, before the client receives the end. */

import { type ChargeNote, encodePriceLines, type PriceLine, priceLinesOf, sumOfLines } from '../catalog/cost.ts';
import { hasTierPrices, pricesInTier } from '../catalog/service-tiers.ts';
import type { Usage } from '../core/chat.ts';
import type { CatalogModel, Prices } from '../core/model.ts';
import type { AskedContainers } from '../core/output.ts';
import { isPriced } from '../core/prices.ts';
import { isOtherTier, isRegional, joinTiers, tierWithRegion, withoutRegion } from '../core/tier-names.ts';
import { boundCost, boundUsage, hasOutputOrToolUse, reportedCostOf, withContainerSize } from '../core/usage-bounds.ts';
import type { Completion, Intent } from './record.ts';
import type { Recorder } from './recorder.ts';

/** What a body, or the options for a provider, ask for: a service tier, and the size of containers. */
export interface AskedPrices extends AskedContainers {
  tier?: string | undefined;
}

/** Endpoint that serves a request, with what the options for its provider ask for. */
export interface ServingEndpoint extends AskedPrices {
  provider: string;
  model: CatalogModel;
  protocol: string;
  /** The provider bills the cost that it reports. */
  billsReportedCost?: boolean | undefined;
}

/** Usage of a response, complete or so far. */
export interface Consumption {
  usage?: Partial<Usage> | undefined;
  /** Finish reason of the upstream; absent if the response is incomplete. */
  finish?: string | undefined;
  /** The gateway aborted a request that the upstream had received and may bill. */
  abandoned?: boolean | undefined;
}

/** Outcome of a request. */
export interface RequestEnding
  extends Consumption,
    Pick<Completion, 'status' | 'errorCode' | 'firstByte' | 'upstreamId'> {
  /** Endpoint of the last attempt; by default that of the first. */
  served?: ServingEndpoint;
  attempts: number;
  /** Milliseconds. */
  total: number;
  /** Encodes how the request was routed and charged. Absent if no trace is stored; returns undefined if this request needs none. */
  trace?: (charge: () => ChargeNote) => string | undefined;
}

export interface UsageMeter {
  /** Writes the intent. Nothing may be sent before it resolves. */
  begin(served: ServingEndpoint): Promise<void>;
  /** The request was sent. */
  sent(): void;
  /** Estimates the input now, because the body of the request is about to be released. */
  keepEstimate(): void;
  /** Cost in 1e-12 USD; undefined without a known price. */
  charge(served: ServingEndpoint, consumption: Consumption): bigint | undefined;
  /** Resolves when the record is durable; a request that was not sent leaves none. Called once. */
  close(ending: RequestEnding): Promise<void>;
  /** Tokens of the record; undefined before it is written, and for one without tokens. */
  readonly counted: Usage | undefined;
}

/** Estimated input tokens of a request. */
export interface UsageEstimate {
  input(): number;
  /** Faster estimate for the intent, which counts only if the gateway dies. */
  quickInput(): number;
}

export interface UsageMeterOptions {
  recorder: Recorder;
  request: AskedPrices &
    Pick<Intent, 'id' | 'startedAt' | 'keyId' | 'tags' | 'toolFailures' | 'model' | 'protocolIn' | 'stream'>;
  /** The operation is free, e.g. counting tokens. */
  free: boolean;
  /** Providers process the operation in service tiers. */
  isTiered: boolean;
  /** Answers of the operation have tokens; where they have none, an answer is charged by its input alone. */
  hasOutput: boolean;
  estimate: UsageEstimate;
  /** Settles the reservations of limits. */
  settleLimits(used: { tokens: number; cost: bigint }): void;
}

/** A cost in 1e-12 USD, undefined without a known price, and its basis: lines that it is the sum of, or a word. */
interface Charge {
  cost: bigint | undefined;
  basis: readonly PriceLine[] | 'free' | 'nothing' | 'provider' | 'unknown';
}

/** A cost that was worked out. */
interface Charged extends Consumption, Charge {
  served: ServingEndpoint;
}

const FREE: Charge = { cost: 0n, basis: 'free' };
const NOTHING: Charge = { cost: 0n, basis: 'nothing' };
const UNKNOWN: Charge = { cost: undefined, basis: 'unknown' };

export function openUsageMeter(options: UsageMeterOptions): UsageMeter {
  return new RequestMeter(options);
}

class RequestMeter implements UsageMeter {
  readonly #options: UsageMeterOptions;
  #intent: Intent | undefined;
  #first: ServingEndpoint | undefined;
  #begun: Promise<void> | undefined;
  #sent = false;
  #charged: Charged | undefined;
  counted: Usage | undefined;

  constructor(options: UsageMeterOptions) {
    this.#options = options;
  }

  begin(served: ServingEndpoint): Promise<void> {
    if (this.#begun) return this.#begun;
    this.#first = served;
    this.#intent = new MeteredIntent(this.#options, served);
    this.#begun = this.#options.recorder.begin(this.#intent);
    return this.#begun;
  }

  sent(): void {
    this.#sent = true;
  }

  keepEstimate(): void {
    if (!this.#options.free) this.#options.estimate.input();
  }

  charge(served: ServingEndpoint, consumption: Consumption): bigint | undefined {
    return this.#charge(served, consumption).cost;
  }

  /** The log, the metrics, the response and the record ask for the same cost. */
  #charge(served: ServingEndpoint, { usage, finish, abandoned }: Consumption): Charge {
    if (this.#options.free) return FREE;
    const charged = this.#charged;
    const isKnown =
      charged?.served.model === served.model &&
      charged.usage === usage &&
      charged.finish === finish &&
      charged.abandoned === abandoned;
    if (charged && isKnown) return charged;
    const { cost, basis } = this.#chargeOf(served, { usage, finish, abandoned });
    this.#charged = { served, usage, finish, abandoned, cost, basis };
    return this.#charged;
  }

  async close(ending: RequestEnding): Promise<void> {
    const { recorder, free, estimate, settleLimits } = this.#options;
    const intent = this.#intent;
    const { served = this.#first, finish, abandoned } = ending;
    if (!intent || !served || !this.#sent) {
      if (intent) recorder.withdraw(intent);
      return settleLimits({ tokens: 0, cost: 0n });
    }
    const usage = ending.usage ?? (abandoned ? { estimated: true } : undefined);
    const counted = usage && !free ? withEstimatedInput(boundUsage(usage), estimate) : undefined;
    this.counted = counted;
    const charged = usage || free ? this.#charge(served, { usage, finish, abandoned }) : NOTHING;
    const trace = ending.trace?.(() => this.#noteOf(charged, served, usage));
    const { cost } = charged;
    await recorder.finish(intent, completionOf(ending, served, { usage: counted, cost, trace }));
    settleLimits({ tokens: counted ? counted.input + counted.output : 0, cost: boundCost(cost ?? 0n) });
  }

  #chargeOf(served: ServingEndpoint, { usage = {}, finish, abandoned }: Consumption): Charge {
    const bounded = boundUsage(usage);
    const billed = served.billsReportedCost ? reportedCostOf(bounded) : undefined;
    if (billed !== undefined) return { cost: billed, basis: 'provider' };
    if (!abandoned && this.#options.hasOutput && !isCharged(bounded, finish)) return NOTHING;
    const { request } = this.#options;
    const own = served.protocol === request.protocolIn ? request : undefined;
    const sized = withContainerSize(bounded, own, served);
    return priceOf(this.#pricesOf(served, bounded), withEstimatedInput(sized, this.#options.estimate));
  }

  #pricesOf(served: ServingEndpoint, usage: Partial<Usage>): Prices {
    return pricesInTier(served.model, tierOf(this.#options, served, usage));
  }

  #noteOf({ basis }: Charge, served: ServingEndpoint, usage: Partial<Usage> | undefined): ChargeNote {
    const tier = usage && tierOf(this.#options, served, usage);
    return {
      basis: typeof basis === 'string' ? basis : encodePriceLines(basis),
      tier: isOtherTier(tier) ? { name: tier, isAssumed: !hasTierPrices(served.model, tier) } : undefined,
    };
  }
}

/** Service tier of a response, with its region: the reported ones, else those that were asked for. Some servers report an empty tier. */
function tierOf(
  { request, isTiered }: UsageMeterOptions,
  { tier: optional }: ServingEndpoint,
  { tier, regional }: Partial<Usage>,
): string | undefined {
  if (!isTiered) return undefined;
  const asked = joinTiers(request.tier, optional);
  const served = tier && tier !== 'auto' ? tier : withoutRegion(asked);
  return tierWithRegion(served, regional ?? isRegional(asked));
}

class MeteredIntent implements Intent {
  readonly id: string;
  readonly startedAt: number;
  readonly keyId: string;
  readonly tags: string;
  readonly toolFailures: number | undefined;
  readonly model: string;
  readonly endpoint: Intent['endpoint'];
  readonly protocolIn: string;
  readonly protocolOut: string;
  readonly stream: boolean;
  entry: object | undefined;
  readonly #options: UsageMeterOptions;
  readonly #served: ServingEndpoint;

  constructor(options: UsageMeterOptions, served: ServingEndpoint) {
    const { provider, model, protocol } = served;
    const { id, startedAt, keyId, tags, toolFailures, model: requested, protocolIn, stream } = options.request;
    this.id = id;
    this.startedAt = startedAt;
    this.keyId = keyId;
    this.tags = tags;
    this.toolFailures = toolFailures;
    this.model = requested;
    this.endpoint = { provider, model: model.upstreamId };
    this.protocolIn = protocolIn;
    this.protocolOut = protocol;
    this.stream = stream;
    this.#options = options;
    this.#served = served;
  }

  get estimate(): Intent['estimate'] {
    const { free, estimate } = this.#options;
    if (free) return { input: 0, cost: 0n };
    const { model } = this.#served;
    const input = Math.min(estimate.quickInput(), model.contextLength || Number.POSITIVE_INFINITY);
    const prices = pricesInTier(model, tierOf(this.#options, this.#served, {}));
    return { input, cost: priceOf(prices, { input, output: 0 }).cost };
  }
}

function completionOf(
  { status, errorCode, finish, attempts, firstByte, total, upstreamId }: RequestEnding,
  { provider, model, protocol }: ServingEndpoint,
  { usage, cost, trace }: Pick<Completion, 'usage' | 'cost' | 'trace'>,
): Completion {
  return {
    endpoint: { provider, model: model.upstreamId },
    protocolOut: protocol,
    status,
    errorCode,
    finish,
    usage,
    cost,
    attempts,
    firstByte,
    total,
    upstreamId,
    trace,
  };
}

/** A response that is empty without a finish reason, or ended in an error, is not charged. */
function isCharged(usage: Partial<Usage>, finish: string | undefined): boolean {
  return finish !== 'error' && (finish !== undefined || hasOutputOrToolUse(usage));
}

/** Cost by catalog prices. The reported cost is used only for models without prices; servers that know none report zero. */
function priceOf(prices: Prices, usage: Usage): Charge {
  try {
    if (isPriced(prices)) {
      const basis = priceLinesOf(prices, usage);
      return { cost: sumOfLines(basis), basis };
    }
    const cost = reportedCostOf(usage);
    return cost ? { cost, basis: 'provider' } : UNKNOWN;
  } catch {
    // An invalid price counts as unknown.
    return UNKNOWN;
  }
}

function withEstimatedInput(usage: Partial<Usage>, estimate: UsageEstimate): Usage {
  const { input, output = 0, estimated } = usage;
  // Some upstreams report an input of zero until the end of a stream, or at all.
  if (input !== undefined && !(input === 0 && (estimated || output > 0))) return { ...usage, input, output };
  return { ...usage, input: estimate.input(), output, estimated: true, rounds: undefined };
}
