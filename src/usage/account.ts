/** The account of one request: reserved before it is sent, written down when it is over, before the client hears the end. */

import { costOf } from '../catalog/cost.ts';
import type { Usage } from '../core/chat.ts';
import type { CatalogModel } from '../core/model.ts';
import { moneyOf } from '../core/money.ts';
import type { Completion, Intent } from './record.ts';
import type { Recorder } from './recorder.ts';

/** Who answers a request. */
export interface Served {
  provider: string;
  model: CatalogModel;
  protocol: string;
}

/** What is known of an answer when it costs something, or when it is over. */
export interface Consumption {
  usage?: Partial<Usage>;
  /** The upstream's word for why the answer ended; absent where it did not end. */
  finish?: string;
}

/** How a request ended. */
export interface Ending extends Consumption, Pick<Completion, 'status' | 'errorCode' | 'firstByte' | 'upstreamId'> {
  /** The last one that was asked; absent where it is the first one. */
  served?: Served;
  attempts: number;
  /** Milliseconds. */
  total: number;
}

export interface Account {
  /** A request is about to go out. Settles when that is durable, before which nothing may be sent. */
  begin(served: Served): Promise<void>;
  /** It went out. */
  sent(): void;
  /** In 1e-12 USD; undefined where nobody knows a price. */
  charge(served: Served, consumption: Consumption): bigint | undefined;
  /** Settles when the record is durable; there is none of a request that never went out. Called once. */
  close(ending: Ending): Promise<void>;
}

export interface AccountOptions {
  recorder: Recorder;
  request: Pick<Intent, 'id' | 'startedAt' | 'keyId' | 'model' | 'protocolIn' | 'stream'>;
  /** Nothing is charged for it, such as for counting tokens. */
  free: boolean;
  /** Input tokens. */
  estimate(): number;
  /** Gives back what was reserved of limits. */
  settle(used: { tokens: number; cost: bigint }): void;
}

export function openAccount({ recorder, request, free, estimate, settle }: AccountOptions): Account {
  let intent: Intent | undefined;
  let first: Served | undefined;
  let begun: Promise<void> | undefined;
  let sent = false;

  function charge({ model }: Served, { usage = {}, finish }: Consumption): bigint | undefined {
    if (free || !isCharged(usage, finish)) return 0n;
    return priceOf(model, complete(usage, estimate));
  }

  return {
    begin(served) {
      if (begun) return begun;
      first = served;
      intent = {
        ...{ ...request, ...whereOf(served) },
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
    async close({ served = first, usage, ...ending }) {
      if (!intent || !served || !sent) {
        if (intent) recorder.withdraw(intent);
        return settle({ tokens: 0, cost: 0n });
      }
      const counted = usage && !free ? complete(usage, estimate) : undefined;
      const cost = (usage && charge(served, { usage, finish: ending.finish })) ?? 0n;
      await recorder.finish(intent, { ...ending, ...whereOf(served), usage: counted, cost });
      settle({ tokens: counted ? counted.input + counted.output : 0, cost });
    },
  };
}

function whereOf({ provider, model, protocol }: Served): Pick<Intent, 'endpoint' | 'protocolOut'> {
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
 * By the catalog. Only for a model without prices the upstream's own word counts: what is reserved, shown and charged is
 * then one price list, which the operator can read before.
 */
function priceOf(model: CatalogModel, usage: Usage): bigint | undefined {
  try {
    if (isPriced(model)) return costOf(model, usage);
    return usage.reportedCost === undefined ? undefined : moneyOf(String(usage.reportedCost));
  } catch {
    // An upstream's count may be anything.
    return undefined;
  }
}

function complete(usage: Partial<Usage>, estimate: () => number): Usage {
  const { input, output = 0 } = usage;
  if (input !== undefined) return { ...usage, input, output };
  return { ...usage, input: estimate(), output, estimated: true };
}
