/** Limit keeper: the operations on limits and budgets that requests and reports use. */

import type { BudgetPeriod, ReservedBudget } from '../records/reservations.ts';
import type { LimitedKey, LimitSubject } from './subjects.ts';

/** Request to be admitted, with upper bounds of its usage. */
export interface AdmissionRequest {
  key: LimitedKey;
  /** `<provider>/<model_id>`. */
  model: string;
  /** Upper estimate of input and output tokens. Computed only if tokens are limited. */
  readonly tokens: number;
  /** Maximum cost in 1e-12 USD. Computed only if there is a budget. */
  readonly cost: bigint;
  /** Smallest acceptable reservation if a budget leaves less than `cost`; absent for all or nothing. */
  readonly minCost?: bigint | undefined;
}

export interface Admission {
  /** `x-ratelimit-*` headers; empty without limits. */
  headers: Record<string, string>;
  /** Amount reserved of the budgets, in 1e-12 USD; absent without a budget. */
  cost?: bigint;
  /** Moment, in Unix milliseconds, in whose days, weeks and months it is reserved, and the request counts; absent without a budget. */
  at?: number;
  /** Settlement at the end of the request, which counts unless it says otherwise. Called once. */
  settle(used: { requests?: 0; tokens: number; cost: bigint }): void;
}

export interface LimitKeeper {
  /** `x-ratelimit-*` headers, without admitting a request. */
  rateLimitHeaders(key: LimitedKey, model: string): Record<string, string>;
  /** The key and its tags, with the limits and budgets for requests of any model. */
  subjects(key: LimitedKey): readonly LimitSubject[];
  /** Whether a budget applies to the key: its own, a default, or one of its tags. */
  hasBudget(key: LimitedKey): boolean;
  /** Total reserved by running requests of this process from a budget, in 1e-12 USD. */
  reserved(budget: BudgetPeriod): bigint;
  /** Totals reserved by running requests of this process, of every budget. */
  reservations(): ReservedBudget[];
  /** Takes a concurrency slot of a key and its tags, before the request is read. Returns the release. Throws `rate_limit_exceeded`. */
  enter(key: LimitedKey): Promise<() => void> | (() => void);
  /** Takes one of `most` slots of a key, e.g. for a connection; returns its release. Throws `rate_limit_exceeded`. */
  takeSlot(key: { id: string }, slots: KeySlots): Promise<() => void> | (() => void);
  /** Throws `rate_limit_exceeded` if the minute has nothing left for requests of the key: `admit` would, too. */
  checkMinute(key: LimitedKey): void;
  /** Reserves all other limits. Throws `rate_limit_exceeded` or `insufficient_quota`, with nothing reserved. */
  admit(request: AdmissionRequest): Promise<Admission> | Admission;
  /** Reserves the limits of the key for one more model that may answer an admitted request. Throws `rate_limit_exceeded`, with nothing reserved. */
  admitModel(request: AdmissionRequest): Promise<Admission['settle']>;
  /** Reserves the budgets for a request that continues the answer of an admitted one; returns the release. Throws `insufficient_quota`, with nothing reserved. */
  admitRound(request: AdmissionRequest): Promise<() => void>;
  /** Asks the store before the next reservation of these subjects' budgets, because a task has been charged. */
  recount(subjects: readonly string[]): void;
  /** Takes the holds of running requests again, because the store has deleted them. */
  renewHolds(): Promise<void>;
  /** Releases idle holds. Called every few seconds if several gateways share limits. */
  releaseIdle(): Promise<void>;
  /** Deletes the pools of budget periods that have ended, and windows in which nothing was counted of late. */
  forgetEnded(): void;
  /** Releases and deletes the pools of concurrent requests that nothing used since the last call: clients name models. */
  forgetIdleSlots(): Promise<void>;
  /** Number of reservation pools and minute windows in memory. */
  readonly size: number;
}

/** Slots of a key, over all gateways that share its limits. */
export interface KeySlots {
  kind: string;
  most: number;
  /** Message of the 429 when every slot is taken. */
  message: string;
}

/** Reservations for the rounds that continue one answer. */
export class RoundReservations {
  readonly #reserve: () => Promise<() => void>;
  readonly #releases: (() => void)[] = [];
  #isOver = false;

  constructor(reserve: () => Promise<() => void>) {
    this.#reserve = reserve;
  }

  /** Rejects with `insufficient_quota`. */
  async admit(): Promise<void> {
    const release = await this.#reserve();
    if (this.#isOver) release();
    else this.#releases.push(release);
  }

  release(): void {
    this.#isOver = true;
    for (const release of this.#releases.splice(0)) release();
  }
}
