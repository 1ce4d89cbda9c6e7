/** Usage meter of one request: an intent before it is sent, a record and the settlement when it ends, before the client receives the end. */

import { costOf } from '../catalog/cost.ts';
import type { Usage } from '../core/chat.ts';
import type { CatalogModel } from '../core/model.ts';
import { boundCost, boundUsage, reportedCostOf } from '../core/usage-bounds.ts';
import type { Completion, Intent } from './record.ts';
import type { Recorder } from './recorder.ts';

/** Endpoint that serves a request. */
export interface ServingEndpoint {
  provider: string;
  model: CatalogModel;
  protocol: string;
  /** The provider bills the cost that it reports. */
  billsReportedCost?: boolean;
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

export interface UsageMeterOptions {
  recorder: Recorder;
  request: Pick<Intent, 'id' | 'startedAt' | 'keyId' | 'model' | 'protocolIn' | 'stream'>;
  /** The operation is free, e.g. counting tokens. */
  free: boolean;
  /** Estimates the input tokens. */
  estimate(): number;
  /** Estimates the input tokens for the intent, which counts only if the gateway dies: in less time. */
  estimateQuickly(): number;
  /** Settles the reservations of limits. */
  settleLimits(used: { tokens: number; cost: bigint }): void;
}

/** A cost that was worked out. */
interface Charged extends Consumption {
  served: ServingEndpoint;
  cost: bigint | undefined;
}

export function openUsageMeter(options: UsageMeterOptions): UsageMeter {
  const { recorder, request, free, estimate, estimateQuickly, settleLimits } = options;
  let intent: Intent | undefined;
  let first: ServingEndpoint | undefined;
  let begun: Promise<void> | undefined;
  let sent = false;
  let charged: Charged | undefined;

  /** The log, the metrics, the response and the record ask for the same cost. */
  function charge(served: ServingEndpoint, { usage, finish, abandoned }: Consumption): bigint | undefined {
    if (free) return 0n;
    const isKnown =
      charged?.served.model === served.model &&
      charged.usage === usage &&
      charged.finish === finish &&
      charged.abandoned === abandoned;
    if (charged && isKnown) return charged.cost;
    const cost = costOfUsage(served, { usage, finish, abandoned });
    charged = { served, usage, finish, abandoned, cost };
    return cost;
  }

  function costOfUsage(served: ServingEndpoint, { usage = {}, finish, abandoned }: Consumption): bigint | undefined {
    const bounded = boundUsage(usage);
    const billed = served.billsReportedCost ? reportedCostOf(bounded) : undefined;
    if (billed !== undefined) return billed;
    return abandoned || isCharged(bounded, finish) ? priceOf(served.model, withEstimatedInput(bounded, estimate)) : 0n;
  }

  return {
    begin(served) {
      if (begun) return begun;
      first = served;
      intent = {
        ...request,
        ...endpointFields(served),
        get estimate() {
          const input = free ? 0 : Math.min(estimateQuickly(), served.model.contextLength || Number.POSITIVE_INFINITY);
          return { input, cost: free ? 0n : (priceOf(served.model, { input, output: 0 }) ?? 0n) };
        },
      };
      begun = recorder.begin(intent);
      return begun;
    },
    sent() {
      sent = true;
    },
    keepEstimate() {
      if (!free) estimate();
    },
    charge,
    async close({ served = first, usage: given, ...ending }) {
      if (!intent || !served || !sent) {
        if (intent) recorder.withdraw(intent);
        return settleLimits({ tokens: 0, cost: 0n });
      }
      const { finish, abandoned } = ending;
      const usage = given ?? (abandoned ? { estimated: true } : undefined);
      const counted = usage && !free ? withEstimatedInput(boundUsage(usage), estimate) : undefined;
      const cost = boundCost((usage && charge(served, { usage, finish, abandoned })) ?? 0n);
      await recorder.finish(intent, { ...ending, ...endpointFields(served), usage: counted, cost });
      settleLimits({ tokens: counted ? counted.input + counted.output : 0, cost });
    },
  };
}

function endpointFields({ provider, model, protocol }: ServingEndpoint): Pick<Intent, 'endpoint' | 'protocolOut'> {
  return { endpoint: { provider, model: model.upstreamId }, protocolOut: protocol };
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
function priceOf(model: CatalogModel, usage: Usage): bigint | undefined {
  try {
    if (isPriced(model)) return costOf(model, usage);
    return reportedCostOf(usage);
  } catch {
    // An invalid price counts as unknown.
    return undefined;
  }
}

function withEstimatedInput(usage: Partial<Usage>, estimate: () => number): Usage {
  const { input, output = 0 } = usage;
  if (input !== undefined) return { ...usage, input, output };
  return { ...usage, input: estimate(), output, estimated: true };
}
