/** Limits of keys and tags: requests and tokens per minute, concurrent requests, and budgets by day, week, month and in total. */

import { GatewayError } from '../core/errors.ts';
import { decimalOf, minBigInt, moneyOf } from '../core/money.ts';
import { PERIODS, type Period, periodEnd, periodStart, type SharedAllotments } from '../records/key-settings.ts';
import { type BudgetPeriod, budgetName, type ReservedBudget } from '../records/reservations.ts';
import { tagList, tagSubject } from '../records/tags.ts';
import type { Admission, AdmissionRequest, LimitKeeper } from './limit-keeper.ts';
import { createMinuteWindow, type MinuteWindow, type WindowState } from './minute-window.ts';
import type { HeldLimit, Quota } from './quota.ts';
import { createReservationPool, type ReservationPool } from './reservation-pool.ts';
import { hasBudget, isUnlimited, type LimitedKey, type LimitSubject, modelSubjects, ownSubjects } from './subjects.ts';

export interface LimitsOptions {
  quota: Quota;
  shared(): SharedAllotments;
  now(): number;
}

interface UsedAmounts {
  requests: number;
  tokens: number;
  cost: bigint;
}

type SettleFunction = (used: UsedAmounts) => void;

interface HeldPool {
  pool: ReservationPool;
  /** Budget of the pool; undefined for a pool of requests. */
  budget: BudgetPeriod | undefined;
  basis: object;
  shared: SharedAllotments;
}

/** Time from the begin of a minute for which its window is kept: requests that were counted in it may still wait for the store. */
const MINUTE_KEPT_MS = 180_000;

const NO_BASIS = {};
const NO_HEADERS: Record<string, string> = {};
const NO_BUDGETS: readonly string[] = [];

interface MoneyReservation {
  cost: bigint;
  /** Name of the budget. */
  budget: string;
  settle: SettleFunction;
}

export function createLimitKeeper({ quota, shared, now }: LimitsOptions): LimitKeeper {
  const minutes = new Map<string, MinuteWindow>();
  const holdings = new Map<string, HeldPool>();

  function minute(subject: string): MinuteWindow {
    return getOrCreate(minutes, subject, () => createMinuteWindow({ subject, quota, now }));
  }

  /** `basis`: where the limit stands; another one may be set, or none for some time, while requests run. */
  function poolOf(holding: HeldLimit, slice: bigint, basis: object = NO_BASIS): ReservationPool {
    const known = holdings.get(holding.subject);
    if (!known) {
      const pool = createReservationPool({ holding, quota, slice });
      holdings.set(holding.subject, { pool, budget: holding.budget, basis, shared: shared() });
      return pool;
    }
    if (known.basis !== basis || known.shared !== shared()) {
      Object.assign(known, { basis, shared: shared() });
      known.pool.change({ holding, slice });
    }
    return known.pool;
  }

  async function admitConcurrent({ name, label, limits, basis }: LimitSubject): Promise<() => void> {
    const most = limits.concurrentRequests;
    if (most === undefined) return noop;
    const message = `${label} may make ${most} requests at once, and as many are running.`;
    return takeSlot(`${name} concurrent`, most, message, basis);
  }

  async function admitAllConcurrent(subjects: readonly LimitSubject[]): Promise<() => void> {
    const releases: (() => void)[] = [];
    const release = () => {
      for (const one of releases.splice(0)) one();
    };
    try {
      for (const subject of subjects) releases.push(await admitConcurrent(subject));
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  async function takeSlot(subject: string, most: number, message: string, basis?: object): Promise<() => void> {
    const slots = poolOf({ subject, limit: BigInt(most) }, BigInt(quota.slice(most) - 1), basis);
    const slot = await slots.admit(1n);
    if (slot) return () => slot.settle(0n);
    throw new GatewayError('rate_limit_exceeded', message, { retryAfter: 1000 });
  }

  async function admitByMinute(
    subject: LimitSubject,
    kind: 'requests' | 'tokens',
    request: AdmissionRequest,
  ): Promise<SettleFunction | undefined> {
    const { name, label, limits } = subject;
    const limit = kind === 'requests' ? limits.requestsPerMinute : limits.tokensPerMinute;
    if (limit === undefined) return undefined;
    const counter = minute(`${name} ${kind}`);
    // A request larger than the whole limit takes a full minute.
    const amount = kind === 'requests' ? 1 : Math.min(request.tokens, limit);
    if (!(await counter.admit(amount, limit))) {
      const { remaining, reset } = counter.state(limit);
      const message = `${label} may use ${limit} ${kind} a minute, of which ${remaining} are left for ${Math.ceil(reset / 1000)} s.`;
      throw new GatewayError('rate_limit_exceeded', message, { retryAfter: reset });
    }
    const at = counter.at();
    return (used) => counter.correct(at, used[kind] - amount);
  }

  /** `most`: the reservation of the previous budgets, which bounds this one. */
  async function admitBudget(
    request: AdmissionRequest,
    { name: subject, label, budgets, basis }: LimitSubject,
    period: Period,
    most: bigint | undefined,
  ): Promise<MoneyReservation | undefined> {
    const text = budgets[period];
    if (text === undefined) return undefined;
    const cost = most ?? request.cost;
    const moment = now();
    const startsAt = periodStart(period, moment);
    const limit = moneyOf(text);
    const budget = { subject, period, startsAt };
    const slice = limit / BigInt(Math.max(1, Math.floor(1000 / quota.slice(1000))));
    const name = budgetName(budget);
    const money = poolOf({ subject: name, limit, budget }, slice, basis);
    const share = await money.admit(cost, minBigInt(request.minCost ?? cost, cost));
    if (share) return { cost: share.amount, budget: name, settle: (used) => share.settle(used.cost) };
    const left = decimalOf(money.left > 0n ? money.left : 0n);
    const words = period === 'total' ? 'in all' : `a ${period}`;
    const end = periodEnd(period, moment);
    const until = end === undefined ? '' : ` until ${new Date(end).toISOString()}`;
    throw new GatewayError(
      'insufficient_quota',
      `${label} may spend ${text} USD ${words}; ${left} USD are left${until}, and this request may cost ${decimalOf(request.minCost ?? cost)} USD.`,
    );
  }

  /** Reserves the limits and budgets of subjects, and those of the model. */
  async function admitTo(request: AdmissionRequest, own: LimitSubject[]): Promise<Admission> {
    const ofModel = modelSubjects(request.key, request.model);
    const subjects = [...own, ...ofModel];
    const settles: SettleFunction[] = [];
    const reserved: string[] = [];
    let cost: bigint | undefined;
    const settle: SettleFunction = (used) => {
      for (const one of settles.splice(0)) one(used);
    };
    try {
      for (const subject of ofModel) settles.push(await admitConcurrent(subject));
      for (const subject of subjects) settles.push((await admitByMinute(subject, 'requests', request)) ?? noop);
      for (const subject of subjects) settles.push((await admitByMinute(subject, 'tokens', request)) ?? noop);
      for (const subject of own) {
        for (const period of PERIODS) {
          const money = await admitBudget(request, subject, period, cost);
          if (!money) continue;
          settles.push(money.settle);
          reserved.push(money.budget);
          cost = money.cost;
        }
      }
    } catch (error) {
      settle({ requests: 0, tokens: 0, cost: 0n });
      throw error;
    }
    const bound = cost === undefined ? {} : { cost };
    const { key } = request;
    const settleAll: Admission['settle'] = (used) => {
      settle({ requests: 1, ...used });
      // That of a further model has no budgets: the request itself counts the cost.
      if (own.length > 0) recountOthers(key, used.cost, reserved);
    };
    return { headers: rateLimitHeadersOf(subjects), ...bound, settle: settleAll };
  }

  /** Makes the budgets in which a request reserved nothing, because they were set while it ran, include its cost. */
  function recountOthers({ id, settings }: LimitedKey, cost: bigint, reserved = NO_BUDGETS): void {
    if (cost > 0n && holdings.size > 0) recount([id, ...tagList(settings.tags).map(tagSubject)], reserved);
  }

  function recount(subjects: readonly string[], except = NO_BUDGETS): void {
    for (const subject of subjects) {
      for (const period of PERIODS) {
        const name = budgetName({ subject, period, startsAt: periodStart(period, now()) });
        if (!except.includes(name)) holdings.get(name)?.pool.recount();
      }
    }
  }

  function rateLimitHeadersOf(subjects: LimitSubject[]): Record<string, string> {
    const states = (kind: 'requests' | 'tokens') =>
      subjects.flatMap(({ name, limits }) => {
        const limit = kind === 'requests' ? limits.requestsPerMinute : limits.tokensPerMinute;
        return limit === undefined ? [] : [minute(`${name} ${kind}`).state(limit)];
      });
    return { ...rateLimitFields('requests', states('requests')), ...rateLimitFields('tokens', states('tokens')) };
  }

  function forgetEnded(): void {
    const moment = now();
    for (const [name, { lastAt }] of minutes) if (moment - lastAt >= MINUTE_KEPT_MS) minutes.delete(name);
    for (const [name, { budget }] of holdings) {
      if (budget && budget.startsAt < periodStart(budget.period, moment)) holdings.delete(name);
    }
  }

  return {
    rateLimitHeaders: (key, model) =>
      isUnlimited(key, shared())
        ? NO_HEADERS
        : rateLimitHeadersOf([...ownSubjects(key, shared()), ...modelSubjects(key, model)]),

    subjects: (key) => ownSubjects(key, shared()),

    hasBudget: (key) => hasBudget(key, shared()),

    reserved: (budget) => holdings.get(budgetName(budget))?.pool.reserved ?? 0n,

    reservations() {
      const reservations: ReservedBudget[] = [];
      for (const { pool, budget } of holdings.values()) {
        if (budget && pool.reserved > 0n) reservations.push({ ...budget, amount: pool.reserved });
      }
      return reservations;
    },

    enter: (key) => (isUnlimited(key, shared()) ? noop : admitAllConcurrent(ownSubjects(key, shared()))),

    takeSlot: ({ id }, { kind, most, message }) => takeSlot(`${id} ${kind}`, most, message),

    recount: (subjects) => recount(subjects),

    async admitModel(request) {
      const { settle } = await admitTo(request, []);
      return settle;
    },

    admit(request) {
      const { key } = request;
      if (!isUnlimited(key, shared())) return admitTo(request, ownSubjects(key, shared()));
      return { headers: NO_HEADERS, settle: ({ cost }) => recountOthers(key, cost) };
    },

    async renewHolds() {
      for (const { pool } of holdings.values()) await pool.renew();
    },

    async releaseIdle() {
      for (const { pool } of holdings.values()) await pool.releaseIdle();
      forgetEnded();
    },

    forgetEnded,

    async forgetIdleSlots() {
      for (const [name, { pool, budget }] of holdings) {
        if (budget) continue;
        await pool.releaseIdle();
        if (pool.isEmpty) holdings.delete(name);
      }
    },

    get size() {
      return holdings.size + minutes.size;
    },
  };
}

function noop(): void {}

function getOrCreate<Value>(map: Map<string, Value>, name: string, make: () => Value): Value {
  const known = map.get(name);
  if (known) return known;
  const made = make();
  map.set(name, made);
  return made;
}

/** `x-ratelimit-*` headers of the tightest of several limits. */
function rateLimitFields(kind: string, states: WindowState[]): Record<string, string> {
  const [tightest] = states.toSorted((one, other) => one.remaining - other.remaining);
  if (!tightest) return {};
  return {
    [`x-ratelimit-limit-${kind}`]: String(tightest.limit),
    [`x-ratelimit-remaining-${kind}`]: String(tightest.remaining),
    [`x-ratelimit-reset-${kind}`]: `${Math.ceil(tightest.reset / 1000)}s`,
  };
}
