/** The account of one request: reserved before it is sent, written down when it is over, before the client hears the end. */

import { costOf } from '../catalog/cost.ts';
import type { Usage } from '../core/chat.ts';
import type { CatalogModel } from '../core/model.ts';
import { boundCost, boundUsage, reportedCostOf } from '../core/usage-bounds.ts';
import type { Completion, Intent } from './record.ts';
import type { Recorder } from './recorder.ts';

/** Who answers a request. */
export interface ServingEndpoint {
  provider: string;
  model: CatalogModel;
  protocol: string;
  /** It bills by the cost that it reports. */
  billsReportedCost?: boolean;
}

/** What is known of an answer when it costs something, or when it is over. */
export interface Consumption {
  usage?: Partial<Usage>;
  /** The upstream's word for why the answer ended; absent where it did not end. */
  finish?: string;
  /** The gateway hung up on an upstream that had the request, which may bill it. */
  abandoned?: boolean;
}

/** How a request ended. */
export interface RequestEnding
  extends Consumption,
    Pick<Completion, 'status' | 'errorCode' | 'firstByte' | 'upstreamId'> {
  /** The last one that was asked; absent where it is the first one. */
  served?: ServingEndpoint;
  attempts: number;
  /** Milliseconds. */
  total: number;
}

export interface UsageMeter {
  /** A request is about to go out. Settles when that is durable, before which nothing may be sent. */
  begin(served: ServingEndpoint): Promise<void>;
  /** It went out. */
  sent(): void;
  /** In 1e-12 USD; undefined where nobody knows a price. */
  charge(served: ServingEndpoint, consumption: Consumption): bigint | undefined;
  /** Settles when the record is durable; there is none of a request that never went out. Called once. */
  close(ending: RequestEnding): Promise<void>;
}

export interface UsageMeterOptions {
  recorder: Recorder;
  request: Pick<Intent, 'id' | 'startedAt' | 'keyId' | 'model' | 'protocolIn' | 'stream'>;
  /** Nothing is charged for it, such as for counting tokens. */
  free: boolean;
  /** Input tokens. */
  estimate(): number;
  /** Gives back what was reserved of limits. */
  settleLimits(used: { tokens: number; cost: bigint }): void;
}

export function openUsageMeter({ recorder, request, free, estimate, settleLimits }: UsageMeterOptions): UsageMeter {
  let intent: Intent | undefined;
  let first: ServingEndpoint | undefined;
  let begun: Promise<void> | undefined;
  let sent = false;

  function charge(served: ServingEndpoint, { usage = {}, finish, abandoned }: Consumption): bigint | undefined {
    if (free) return 0n;
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
        ...{ ...request, ...endpointFields(served) },
        get estimate() {
          const input = free ? 0 : estimate();
          return { input, cost: free ? 0n : (priceOf(served.model, { input, output: 0 }) ?? 0n) };
        },
      };
      begun = recorder.begin(intent);
      return begun;
    },
    sent() {
      sent = true;
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

/** Whether anybody knows what a model costs before it has answered. */
export function isPriced({ pricing }: Pick<CatalogModel, 'pricing'>): boolean {
  return Object.keys(pricing).length > 0;
}

/** An answer that is empty without a reason, or ended in an error, is not worth its price. */
function isCharged({ output = 0 }: Partial<Usage>, finish: string | undefined): boolean {
  return finish !== 'error' && (output > 0 || finish !== undefined);
}

/**
 * By the catalog. Of providers that do not bill by what they report, only a model without prices is charged that: the
 * others have one price list, which the operator can read before.
 */
function priceOf(model: CatalogModel, usage: Usage): bigint | undefined {
  try {
    if (isPriced(model)) return costOf(model, usage);
    return reportedCostOf(usage);
  } catch {
    // A price that is no number is none.
    return undefined;
  }
}

function withEstimatedInput(usage: Partial<Usage>, estimate: () => number): Usage {
  const { input, output = 0 } = usage;
  if (input !== undefined) return { ...usage, input, output };
  return { ...usage, input: estimate(), output, estimated: true };
}
