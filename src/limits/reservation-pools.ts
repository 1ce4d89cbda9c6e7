/** Reservation pools of budgets and of concurrent requests, by the names of their limits. */

import { PERIODS, periodStart, type SharedAllotments } from '../records/key-settings.ts';
import { type BudgetPeriod, budgetName, type ReservedBudget } from '../records/reservations.ts';
import type { HeldLimit, Quota } from './quota.ts';
import { createReservationPool, type PoolLimit, type ReservationPool } from './reservation-pool.ts';

/** Source of a limit: another one may be set, or none for some time, while requests run. */
interface LimitSource {
  /** Object in which the limit stands. */
  basis: object;
  shared: SharedAllotments;
}

interface HeldPool extends LimitSource {
  pool: ReservationPool;
  /** Budget of the pool; undefined for a pool of requests. */
  budget: BudgetPeriod | undefined;
}

export class ReservationPools {
  readonly #quota: Quota;
  readonly #pools = new Map<string, HeldPool>();
  /** Keys and tags of the budgets among them. */
  #spenders = new Set<string>();

  constructor(quota: Quota) {
    this.#quota = quota;
  }

  get size(): number {
    return this.#pools.size;
  }

  /** The pool of a limit, with the limit that it has now. */
  poolOf({ heldLimit, slice }: PoolLimit, { basis, shared }: LimitSource): ReservationPool {
    const known = this.#pools.get(heldLimit.name);
    if (!known) return this.#add(heldLimit, { slice, basis, shared });
    if (known.basis !== basis || known.shared !== shared) {
      known.basis = basis;
      known.shared = shared;
      known.pool.change({ heldLimit, slice });
    }
    return known.pool;
  }

  #add(heldLimit: HeldLimit, { slice, basis, shared }: LimitSource & Pick<PoolLimit, 'slice'>): ReservationPool {
    const pool = createReservationPool({ heldLimit, quota: this.#quota, slice });
    this.#pools.set(heldLimit.name, { pool, budget: heldLimit.budget, basis, shared });
    if (heldLimit.budget) this.#spenders.add(heldLimit.budget.subject);
    return pool;
  }

  /** Makes the budgets of a key or a tag ask the store before their next reservation, but those named by `except`. */
  recount(subject: string, moment: number, except: readonly string[]): void {
    if (!this.#spenders.has(subject)) return;
    for (const period of PERIODS) {
      const name = budgetName({ subject, period, startsAt: periodStart(period, moment) });
      if (!except.includes(name)) this.#pools.get(name)?.pool.recount();
    }
  }

  /** Total reserved from a budget, in 1e-12 USD. */
  reserved(budget: BudgetPeriod): bigint {
    return this.#pools.get(budgetName(budget))?.pool.reserved ?? 0n;
  }

  /** Totals reserved, of every budget. */
  reservations(): ReservedBudget[] {
    const reservations: ReservedBudget[] = [];
    for (const { pool, budget } of this.#pools.values()) {
      if (budget && pool.reserved > 0n) reservations.push({ ...budget, amount: pool.reserved });
    }
    return reservations;
  }

  async renew(): Promise<void> {
    for (const { pool } of this.#pools.values()) await pool.renew();
  }

  async releaseIdle(): Promise<void> {
    for (const { pool } of this.#pools.values()) await pool.releaseIdle();
  }

  /** Deletes the pools of budget periods that have ended. */
  forgetEnded(moment: number): void {
    this.#spenders = new Set();
    for (const [name, { budget }] of this.#pools) {
      if (!budget) continue;
      if (budget.startsAt < periodStart(budget.period, moment)) this.#pools.delete(name);
      else this.#spenders.add(budget.subject);
    }
  }

  /** Releases and deletes the pools of requests that nothing used since the last call. */
  async forgetIdleSlots(): Promise<void> {
    for (const [name, { pool, budget }] of this.#pools) {
      if (budget) continue;
      await pool.releaseIdle();
      if (pool.isEmpty) this.#pools.delete(name);
    }
  }
}
