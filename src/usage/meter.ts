/** Usage meter of one request: an intent before it is sent, a record and the settlement when it ends, before the client receives the end. */

import { costOf, encodePriceLines, priceLinesOf } from '../catalog/cost.ts';
import { hasTierPrices, isOtherTier, pricesInTier } from '../catalog/service-tiers.ts';
import type { Usage } from '../core/chat.ts';
import type { CatalogModel, Prices } from '../core/model.ts';
import { boundCost, boundUsage, reportedCostOf } from '../core/usage-bounds.ts';
import type { Completion, Intent } from './record.ts';
import type { Recorder } from './recorder.ts';

/** Endpoint that serves a request. */
export interface ServingEndpoint {
  provider: string;
  model: CatalogModel;
  protocol: string;
  /** The provider bills the cost that it reports. */
  billsReportedCost?: boolean | undefined;
  /** Service tier that the options for the provider ask for. */
  tier?: string | undefined;
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
    Pick<Completion, 'status' | 'errorCode' | 'firstByte' | 'upstreamId' | 'trace'> {
  /** Endpoint of the last attempt; by default that of the first. */
  served?: ServingEndpoint;
  attempts: number;
  /** Milliseconds. */
  total: number;
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
}

/** Estimated input tokens of a request. */
export interface UsageEstimate {
  input(): number;
  /** For the intent, which counts only if the gateway dies: in less time. */
  quickInput(): number;
}

export interface UsageMeterOptions {
  recorder: Recorder;
  request: Pick<Intent, 'id' | 'startedAt' | 'keyId' | 'tags' | 'toolFailures' | 'model' | 'protocolIn' | 'stream'> & {
    /** Service tier that the client asks for. */
    tier?: string | undefined;
  };
  /** The operation is free, e.g. counting tokens. */
  free: boolean;
  /** Providers process the operation in service tiers. */
  isTiered: boolean;
  estimate: UsageEstimate;
  /** Settles the reservations of limits. */
  settleLimits(used: { tokens: number; cost: bigint }): void;
}

/** A cost that was worked out. */
interface Charged extends Consumption {
  served: ServingEndpoint;
  cost: bigint | undefined;
}

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

  /** The log, the metrics, the response and the record ask for the same cost. */
  charge(served: ServingEndpoint, { usage, finish, abandoned }: Consumption): bigint | undefined {
    if (this.#options.free) return 0n;
    const charged = this.#charged;
    const isKnown =
      charged?.served.model === served.model &&
      charged.usage === usage &&
      charged.finish === finish &&
      charged.abandoned === abandoned;
    if (charged && isKnown) return charged.cost;
    const cost = this.#costOf(served, { usage, finish, abandoned });
    this.#charged = { served, usage, finish, abandoned, cost };
    return cost;
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
    const cost = usage ? this.charge(served, { usage, finish, abandoned }) : 0n;
    const basis = () => (cost === undefined ? 'unknown' : this.#basisOf(served, { usage, finish, abandoned }));
    const trace = ending.trace && withCharge(ending.trace, basis(), usage && this.#tierNote(served, usage));
    await recorder.finish(intent, completionOf({ ...ending, trace }, served, { usage: counted, cost }));
    settleLimits({ tokens: counted ? counted.input + counted.output : 0, cost: boundCost(cost ?? 0n) });
  }

  #costOf(served: ServingEndpoint, { usage = {}, finish, abandoned }: Consumption): bigint | undefined {
    const bounded = boundUsage(usage);
    const billed = served.billsReportedCost ? reportedCostOf(bounded) : undefined;
    if (billed !== undefined) return billed;
    if (!abandoned && !isCharged(bounded, finish)) return 0n;
    return priceOf(this.#pricesOf(served, bounded), withEstimatedInput(bounded, this.#options.estimate));
  }

  #pricesOf(served: ServingEndpoint, usage: Partial<Usage>): Prices {
    return pricesInTier(served.model, tierOf(this.#options, served, usage));
  }

  /** For the trace: a tier that is not the standard one, and whether its prices are assumed. */
  #tierNote(served: ServingEndpoint, usage: Partial<Usage>): string {
    const tier = tierOf(this.#options, served, usage);
    if (!isOtherTier(tier)) return '';
    const name = tier.slice(0, MAX_TIER_CHARACTERS).replace(UNUSUAL_IN_TIERS, '?');
    return `,"v":["${name}"${hasTierPrices(served.model, tier) ? '' : ',1'}]`;
  }

  /** What `#costOf` went by for a cost that is known. */
  #basisOf(served: ServingEndpoint, { usage, finish, abandoned }: Consumption): string {
    if (this.#options.free) return 'free';
    if (!usage) return 'nothing';
    const bounded = boundUsage(usage);
    if (served.billsReportedCost && reportedCostOf(bounded) !== undefined) return 'provider';
    if (!abandoned && !isCharged(bounded, finish)) return 'nothing';
    const prices = this.#pricesOf(served, bounded);
    if (!isPriced(prices)) return 'provider';
    return encodePriceLines(priceLinesOf(prices, withEstimatedInput(bounded, this.#options.estimate)));
  }
}

const MAX_TRACE_CHARACTERS = 4096;

const MAX_TIER_CHARACTERS = 40;
const UNUSUAL_IN_TIERS = /[^\w.-]/g;

/** Service tier of a response: the reported one, else the one that was asked for. Some servers report an empty one. */
function tierOf(
  { request, isTiered }: UsageMeterOptions,
  { tier: optional }: ServingEndpoint,
  { tier }: Partial<Usage>,
): string | undefined {
  if (!isTiered) return undefined;
  if (tier && tier !== 'auto') return tier;
  return isOtherTier(optional) ? optional : request.tier;
}

/**
 * The trace, which is an object, with lines of prices, or a word for a cost that is not their sum, and a note of the service
 * tier; `decodeStoredTrace` reads it.
 */
function withCharge(trace: string, basis: string, tierNote = ''): string {
  const text = `${tierNote},"u":"${basis}"}`;
  const isShort = trace.length + text.length <= MAX_TRACE_CHARACTERS / 4;
  if (!isShort && Buffer.byteLength(trace) + text.length > MAX_TRACE_CHARACTERS) return trace;
  return trace.slice(0, -1) + text;
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
    return { input, cost: priceOf(prices, { input, output: 0 }) };
  }
}

function completionOf(
  { status, errorCode, finish, attempts, firstByte, total, upstreamId, trace }: RequestEnding,
  { provider, model, protocol }: ServingEndpoint,
  { usage, cost }: { usage: Usage | undefined; cost: bigint | undefined },
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

/** Whether the price of a model is known in advance. */
export function isPriced({ pricing }: Pick<CatalogModel, 'pricing'>): boolean {
  for (const name in pricing) if (Object.hasOwn(pricing, name)) return true;
  return false;
}

/** A response that is empty without a finish reason, or ended in an error, is not charged. */
function isCharged({ output = 0 }: Partial<Usage>, finish: string | undefined): boolean {
  return finish !== 'error' && (output > 0 || finish !== undefined);
}

/** Cost by catalog prices. The reported cost is used only for models without prices. */
function priceOf(prices: Prices, usage: Usage): bigint | undefined {
  try {
    if (isPriced(prices)) return costOf(prices, usage);
    return reportedCostOf(usage);
  } catch {
    // An invalid price counts as unknown.
    return undefined;
  }
}

function withEstimatedInput(usage: Partial<Usage>, estimate: UsageEstimate): Usage {
  const { input, output = 0 } = usage;
  if (input !== undefined) return { ...usage, input, output };
  return { ...usage, input: estimate.input(), output, estimated: true };
}
