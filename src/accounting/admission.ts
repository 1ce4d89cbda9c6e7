/** Admission control: reserves the limits of the key before a request, and refuses requests that cannot be recorded. */

import { GatewayError } from '../core/errors.ts';
import type { OperationHandler } from '../inference/operations/handler.ts';
import { handlerOf } from '../inference/operations/index.ts';
import { askedByBody } from '../inference/tokens/asked-tier.ts';
import { type ExpectedUsage, inputByLength } from '../inference/tokens/expected-usage.ts';
import type { Reservation } from '../inference/tokens/reservation.ts';
import type { Key } from '../keys/store.ts';
import { type Admission, type AdmissionRequest, type LimitKeeper, RoundReservations } from '../limits/limit-keeper.ts';
import type { LimitSubject } from '../limits/subjects.ts';
import type { Reservations } from '../records/reservations.ts';
import { tagList, tagSubject, tagsOf } from '../records/tags.ts';
import type { RoutingDecision } from '../routing/decision.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import type { Store } from '../store/store.ts';
import { openUsageMeter, type UsageEstimate, type UsageMeter } from '../usage/meter.ts';
import type { Recorder } from '../usage/recorder.ts';
import type { BudgetReservation } from '../videos/create.ts';

export interface AdmissionControlOptions {
  recorder: Recorder;
  limits: LimitKeeper;
  store: Pick<Store, 'call'>;
  /** Reads the reservations of running requests of other gateways. */
  readOthers(): Promise<Reservations>;
  /** Unix milliseconds. */
  now(): number;
}

export interface AdmittedCall {
  meter: UsageMeter;
  /** `x-ratelimit-*`. */
  headers: Record<string, string>;
  /** Output limit per endpoint that the reservation allows; absent without a budget. */
  limitOf?: InferenceCall['limitOf'] | undefined;
  /** Reserves the limits of the key for a model that is tried after another one; absent without such limits. Rejects with `rate_limit_exceeded`. */
  admitModel?: ((model: string) => Promise<void>) | undefined;
  /** Reserves the budgets for a request that continues the answer; absent without a budget. Rejects with `insufficient_quota`. */
  admitRound?: (() => Promise<void>) | undefined;
  /** Releases the reservations. */
  discard(): void;
  /** Releases everything, the request itself included: it will be admitted again. */
  withdraw(): void;
}

export interface AdmissionControl {
  /** The key and those of its tags that have limits or budgets, with those for requests of any model. */
  subjects(key: Key): readonly LimitSubject[];
  /** Whether the key or one of its tags has a budget. */
  hasBudget(key: Key): boolean;
  /** Reservations of running requests: of this process as of now, of others as in their last heartbeat. */
  reservations(): Promise<Reservations>;
  /** `x-ratelimit-*` headers of a key. */
  rateLimitHeaders(key: Key, model?: string): Record<string, string>;
  /** Takes a concurrency slot of a key; returns its release. Throws `rate_limit_exceeded`. */
  enter(key: Key): Promise<() => void> | (() => void);
  /** Takes one of the connections of a key that may be open at once; returns its release. Throws `rate_limit_exceeded`. */
  connect(key: Key, most: number): Promise<() => void> | (() => void);
  /** Throws `rate_limit_exceeded` for a request that `open` would refuse whatever its size, before it is read whole. */
  checkMinute(call: InferenceCall, key: Key): void;
  /**
   * `onSettled` is called when the request is recorded, before the client receives its end. Throws
   * `rate_limit_exceeded`, `insufficient_quota`, and `unavailable` while records cannot be written.
   */
  open(
    call: InferenceCall,
    key: Key,
    decision: RoutingDecision,
    onSettled?: () => void,
  ): Promise<AdmittedCall> | AdmittedCall;
  /** Holds the maximum cost of a task until its usage is recorded. Throws `rate_limit_exceeded` and `insufficient_quota`. */
  reserve(key: Key, task: ExpectedTask): Promise<BudgetReservation>;
  /** Makes the budgets of a key and its tags include the cost of a task, which may be more than was held for it. */
  taskCharged(task: { keyId: string; tags: string }): void;
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

export function createAdmissionControl({
  recorder,
  limits,
  store,
  readOthers,
  now,
}: AdmissionControlOptions): AdmissionControl {
  return {
    subjects: (key) => limits.subjects(key),

    hasBudget: (key) => limits.hasBudget(key),

    async reservations() {
      const others = await readOthers();
      return {
        of(budget) {
          const { amount, isComplete } = others.of(budget);
          return { amount: amount + limits.reserved(budget), isComplete };
        },
      };
    },

    rateLimitHeaders: (key, model = '') => limits.rateLimitHeaders(key, model),

    enter: (key) => limits.enter(key),

    connect: (key, most) =>
      limits.takeSlot(key, {
        kind: 'connections',
        most,
        message: `This key may have ${most} WebSockets open at once, and has as many.`,
      }),

    checkMinute({ operation }, key) {
      if (!handlerOf(operation).free) limits.checkMinute(key);
    },

    open(call, key, decision, onSettled = ignore) {
      if (!recorder.ready) {
        const message = 'Usage records cannot be written at the moment; try again shortly.';
        throw new GatewayError('unavailable', message, { retryAfter: RETRY_AFTER_MS });
      }
      const request = new CallAdmission(call, key, decision);
      const admission = limits.admit(request);
      const admitted = (granted: Admission) => admittedCall(request, granted, { recorder, limits, now, onSettled });
      return admission instanceof Promise ? admission.then(admitted) : admitted(admission);
    },

    async reserve(key, { id, model, createdAt, cost = UNKNOWN_COST_RESERVATION }) {
      limits.recount(limits.subjects(key).map(({ name }) => name));
      const { headers, settle } = await limits.admit({ key, model, tokens: 0, cost });
      if (cost === 0n) {
        settle({ tokens: 0, cost: 0n });
        return { headers, release: async () => {} };
      }
      // Also where there is no budget: one that is set while the task is open has less left.
      try {
        await store.call('holdForTask', { taskId: id, keyId: key.id, tags: key.tags, amount: cost, createdAt });
      } catch (error) {
        settle({ tokens: 0, cost: 0n });
        throw error;
      }
      // The hold in the store counts as spent now.
      settle({ tokens: 0, cost });
      return { headers, release: () => store.call('releaseTask', { id }) };
    },

    taskCharged: ({ keyId, tags }) => limits.recount([keyId, ...tagList(tagsOf(tags)).map(tagSubject)]),
  };
}

/** Upper bounds of the usage of a call, and its input; each is computed on first use. */
class CallAdmission implements AdmissionRequest, UsageEstimate {
  readonly call: InferenceCall;
  readonly key: Key;
  readonly decision: RoutingDecision;
  readonly handler: OperationHandler;
  #expected: ExpectedUsage | undefined;
  #reservation: Reservation | undefined;

  constructor(call: InferenceCall, key: Key, decision: RoutingDecision) {
    this.call = call;
    this.key = key;
    this.decision = decision;
    this.handler = handlerOf(call.operation);
  }

  /** The model that is tried first. */
  get model(): string {
    return this.decision.candidates[0]?.model ?? this.decision.model;
  }

  get reservation(): Reservation {
    this.#reservation ??= this.handler.reservation(this.call, this.#possible(), this.#expect());
    return this.#reservation;
  }

  get tokens(): number {
    return this.handler.free ? 0 : this.reservation.tokens;
  }

  get cost(): bigint {
    return this.handler.free ? 0n : this.reservation.cost;
  }

  get minCost(): bigint | undefined {
    return this.handler.free ? 0n : this.reservation.minCost;
  }

  input(): number {
    return this.#expect().input;
  }

  quickInput(): number {
    return this.#expected?.input ?? inputByLength(this.call) ?? this.input();
  }

  #expect(): ExpectedUsage {
    this.#expected ??= this.handler.expectedUsage(this.call, this.#possible());
    return this.#expected;
  }

  /** Every candidate that may answer. */
  #possible(): Pick<RoutingDecision, 'candidates'> {
    const { candidates, inCooldown } = this.decision;
    return inCooldown.length === 0 ? this.decision : { candidates: [...candidates, ...inCooldown] };
  }
}

interface GrantOptions {
  recorder: Recorder;
  limits: LimitKeeper;
  now(): number;
  onSettled(): void;
}

function admittedCall(
  request: CallAdmission,
  { headers, cost, at, settle: settleFirst }: Admission,
  { recorder, limits, now, onSettled }: GrantOptions,
): AdmittedCall {
  const { call, key, decision, handler } = request;
  const models = key.settings.modelLimits && admitModels(request, limits);
  const rounds = cost ? new RoundReservations(() => limits.admitRound(roundOf(request))) : undefined;
  const settle: Admission['settle'] = (used) => {
    settleFirst(used);
    models?.settle(used);
    rounds?.release();
  };
  const { requestId: id, protocol, stream, operation } = call;
  return {
    meter: openUsageMeter({
      recorder,
      request: {
        id,
        // Not later: its cost counts in the periods in which it is reserved.
        startedAt: at ?? now(),
        keyId: key.id,
        tags: key.tags,
        toolFailures: operation.name === 'complete' ? operation.toolFailuresOf?.(call.body) : undefined,
        model: decision.requested,
        protocolIn: protocol.id,
        stream,
        ...(handler.isTiered && askedByBody(call)),
      },
      free: handler.free,
      isTiered: handler.isTiered,
      hasOutput: handler.hasOutput,
      estimate: request,
      settleLimits: settle,
    }),
    headers,
    // Free endpoints need no output limit.
    limitOf: cost ? request.reservation.limitsFor(cost) : undefined,
    admitModel: models?.admit,
    admitRound: rounds && (() => rounds.admit()),
    discard() {
      settle({ tokens: 0, cost: 0n });
      onSettled();
    },
    withdraw() {
      settle({ requests: 0, tokens: 0, cost: 0n });
      onSettled();
    },
  };
}

function roundOf({ key, model, reservation }: CallAdmission): AdmissionRequest {
  return { key, model, tokens: 0, ...reservation.round() };
}

/** Reservations for the models that are tried after the first one. */
function admitModels(request: CallAdmission, limits: LimitKeeper) {
  const settles = new Map<string, Admission['settle']>();
  return {
    async admit(model: string): Promise<void> {
      if (model === request.model || settles.has(model)) return;
      const { key, tokens, cost } = request;
      settles.set(model, await limits.admitModel({ key, model, tokens, cost }));
    },
    settle(used: Parameters<Admission['settle']>[0]): void {
      for (const settle of settles.values()) settle(used);
    },
  };
}

function ignore(): void {}
