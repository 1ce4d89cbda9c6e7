/** Admission control: reserves the limits of the key before a request, and refuses requests that cannot be recorded. */

import { GatewayError } from '../core/errors.ts';
import { handlerOf } from '../inference/operations/index.ts';
import { inputByLength } from '../inference/tokens/expected-usage.ts';
import type { Key } from '../keys/store.ts';
import type { Admission, LimitKeeper } from '../limits/limits.ts';
import type { RoutingDecision } from '../routing/decision.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import type { Store } from '../store/store.ts';
import { openUsageMeter, type UsageMeter } from '../usage/meter.ts';
import type { Recorder } from '../usage/recorder.ts';
import type { BudgetReservation } from '../videos/create.ts';

export interface AdmissionControlOptions {
  recorder: Recorder;
  limits: LimitKeeper;
  store: Pick<Store, 'call'>;
  /** Unix milliseconds. */
  now(): number;
}

export interface AdmittedCall {
  meter: UsageMeter;
  /** `x-ratelimit-*`. */
  headers: Record<string, string>;
  /** Output limit per endpoint that the reservation allows; absent without a budget. */
  limitOf?: InferenceCall['limitOf'] | undefined;
  /** Releases the reservations. */
  discard(): void;
}

export interface AdmissionControl {
  /** `x-ratelimit-*` headers of a key. */
  rateLimitHeaders(key: Key, model?: string): Record<string, string>;
  /** Takes a concurrency slot of a key; returns its release. Throws `rate_limit_exceeded`. */
  enter(key: Key): Promise<() => void> | (() => void);
  /**
   * `onSettled` is called when the request is recorded, before the client receives its end. Throws
   * `rate_limit_exceeded`, `insufficient_quota`, and `unavailable` while records cannot be written.
   */
  open(
    call: InferenceCall,
    key: Key,
    route: RoutingDecision,
    onSettled?: () => void,
  ): Promise<AdmittedCall> | AdmittedCall;
  /** Holds the maximum cost of a task until its usage is recorded. Throws `rate_limit_exceeded` and `insufficient_quota`. */
  reserve(key: Key, task: ExpectedTask): Promise<BudgetReservation>;
}

export interface ExpectedTask {
  id: string;
  /** `<provider>/<model_id>`. */
  model: string;
  /** Unix milliseconds. */
  createdAt: number;
  /** In 1e-12 USD; undefined without a known price. */
  cost: bigint | undefined;
}

/** Suggested delay before a retry while records cannot be written. */
const RETRY_AFTER_MS = 1000;
/** Reservation of a task without a known price: it only requires that some budget is left. */
const UNKNOWN_COST_RESERVATION = 1n;

export function createAdmissionControl({ recorder, limits, store, now }: AdmissionControlOptions): AdmissionControl {
  return {
    rateLimitHeaders: (key, model = '') => limits.rateLimitHeaders(key, model),

    enter: (key) => limits.enter(key),

    open(call, key, route, onSettled = () => undefined) {
      if (!recorder.ready) {
        const message = 'The gateway cannot write down what requests use; try again in a moment.';
        throw new GatewayError('unavailable', message, { retryAfter: RETRY_AFTER_MS });
      }
      const { free, expectedUsage, reservation } = handlerOf(call.operation);
      const expect = memoize(() => expectedUsage(call));
      const most = memoize(() => reservation(call, route, expect()));
      const admission = limits.admit({
        key,
        model: route.model,
        get tokens() {
          return free ? 0 : most().tokens;
        },
        get cost() {
          return free ? 0n : most().cost;
        },
        get minCost() {
          return free ? 0n : most().minCost;
        },
      });

      function admitted({ headers, cost, settle: settleLimits }: Admission): AdmittedCall {
        const request = {
          id: call.requestId,
          startedAt: now(),
          keyId: key.id,
          model: route.requested,
          protocolIn: call.protocol.id,
          stream: call.stream,
        };
        return {
          meter: openUsageMeter({
            recorder,
            request,
            free,
            estimate: () => expect().input,
            estimateQuickly: () => expect.made?.input ?? inputByLength(call) ?? expect().input,
            settleLimits,
          }),
          headers,
          // Free endpoints need no output limit.
          limitOf: cost ? most().limitsFor(cost) : undefined,
          discard() {
            settleLimits({ tokens: 0, cost: 0n });
            onSettled();
          },
        };
      }

      return admission instanceof Promise ? admission.then(admitted) : admitted(admission);
    },

    async reserve(key, { id, model, createdAt, cost = UNKNOWN_COST_RESERVATION }) {
      const { headers, settle } = await limits.admit({ key, model, tokens: 0, cost });
      const { budgets = {} } = key.settings;
      if (cost === 0n || Object.keys(budgets).length === 0) {
        settle({ tokens: 0, cost: 0n });
        return { headers, release: async () => {} };
      }
      try {
        await store.call('holdForTask', { taskId: id, keyId: key.id, amount: cost, createdAt });
      } catch (error) {
        settle({ tokens: 0, cost: 0n });
        throw error;
      }
      // The hold in the store counts as spent now.
      settle({ tokens: 0, cost });
      return { headers, release: () => store.call('releaseTask', { id }) };
    },
  };
}

interface Memoized<Value> {
  (): Value;
  /** The value, if it was asked for. */
  made?: Value;
}

function memoize<Value>(make: () => Value): Memoized<Value> {
  const memoized: Memoized<Value> = () => {
    memoized.made ??= make();
    return memoized.made;
  };
  return memoized;
}
