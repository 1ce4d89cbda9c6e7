/** Limits of keys and tags: requests and tokens per minute, concurrent requests, and budgets by day, week, month and in total. */

import { GatewayError } from '../core/errors.ts';
import { minBigInt, moneyOf } from '../core/money.ts';
import { PERIODS, type Period, periodStart, type SharedAllotments } from '../records/key-settings.ts';
import { budgetName } from '../records/reservations.ts';
import { tagList, tagSubject } from '../records/tags.ts';
import type { MaybePromise } from '../store/operation.ts';
import { whenKnown } from './fair-queue.ts';
import type { Admission, AdmissionRequest, LimitKeeper } from './limit-keeper.ts';
import {
  createMinuteWindow,
  MINUTE_KINDS,
  type MinuteKind,
  type MinuteWindow,
  setRateLimit,
  type WindowState,
} from './minute-window.ts';
import type { HeldLimit, Quota } from './quota.ts';
import type { ReservationPool } from './reservation-pool.ts';
import { ReservationPools } from './reservation-pools.ts';
import {
  budgetRefusal,
  hasBudget,
  isUnlimited,
  type LimitedKey,
  type LimitSubject,
  minuteLimit,
  minuteRefusal,
  modelSubjects,
  ownSubjects,
} from './subjects.ts';

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

/** Time from the begin of a minute for which its window is kept: requests that were counted in it may still wait for the store. */
const MINUTE_KEPT_MS = 180_000;

const NO_BASIS = {};
const NOTHING_USED = { tokens: 0, cost: 0n };
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
  const pools = new ReservationPools(quota);

  function minute(name: string): MinuteWindow {
    const known = minutes.get(name);
    if (known) return known;
    const made = createMinuteWindow({ name, quota, now });
    minutes.set(name, made);
    return made;
  }

  function poolOf(heldLimit: HeldLimit, slice: bigint, basis: object = NO_BASIS): ReservationPool {
    return pools.poolOf({ heldLimit, slice }, { basis, shared: shared() });
  }

  function admitConcurrent({ name, label, limits, basis }: LimitSubject): MaybePromise<() => void> {
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
      for (const subject of subjects) {
        const admitted = admitConcurrent(subject);
        releases.push(admitted instanceof Promise ? await admitted : admitted);
      }
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  function takeSlot(name: string, most: number, message: string, basis?: object): MaybePromise<() => void> {
    const slots = poolOf({ name, limit: BigInt(most) }, BigInt(quota.slice(most) - 1), basis);
    return whenKnown(slots.admit(1n), (slot) => {
      if (slot) return () => slot.settle(0n);
      throw new GatewayError('rate_limit_exceeded', message, { retryAfter: 1000 });
    });
  }

  function admitByMinute(
    subject: LimitSubject,
    kind: MinuteKind,
    request: AdmissionRequest,
  ): MaybePromise<SettleFunction> {
    const { name, label, limits } = subject;
    const limit = minuteLimit(limits, kind);
    if (limit === undefined) return noop;
    const counter = minute(`${name} ${kind}`);
    // A request larger than the whole limit takes a full minute.
    const amount = kind === 'requests' ? 1 : Math.min(request.tokens, limit);
    return whenKnown(counter.admit(amount, limit), (isTaken) => {
      if (!isTaken) throw minuteRefusal(label, kind, counter.state(limit));
      const at = counter.at();
      return (used) => counter.correct(at, used[kind] - amount);
    });
  }

  /** `most`: the reservation of the previous budgets, which bounds this one. `moment`: that of the period. */
  function admitBudget(
    request: AdmissionRequest,
    { name: subject, label, budgets, basis }: LimitSubject,
    period: Period,
    { most, moment }: { most: bigint | undefined; moment: number },
  ): MaybePromise<MoneyReservation | undefined> {
    const text = budgets[period];
    if (text === undefined) return undefined;
    const cost = most ?? request.cost;
    const startsAt = periodStart(period, moment);
    const limit = moneyOf(text);
    const budget = { subject, period, startsAt };
    const slice = limit / BigInt(Math.max(1, Math.floor(1000 / quota.slice(1000))));
    const name = budgetName(budget);
    const money = poolOf({ name, limit, budget }, slice, basis);
    return whenKnown(money.admit(cost, minBigInt(request.minCost ?? cost, cost)), (share) => {
      if (share) return { cost: share.amount, budget: name, settle: (used) => share.settle(used.cost) };
      throw budgetRefusal(label, { period, limit: text, moment }, { left: money.left, asked: request.minCost ?? cost });
    });
  }

  /** Reserves the limits and budgets of subjects, and those of the model. */
  async function admitTo(request: AdmissionRequest, own: readonly LimitSubject[]): Promise<Admission> {
    const ofModel = modelSubjects(request.key, request.model);
    const subjects = [...own, ...ofModel];
    const settles: SettleFunction[] = [];
    const reserved: string[] = [];
    const at = now();
    let cost: bigint | undefined;
    const settle: SettleFunction = (used) => {
      for (const one of settles.splice(0)) one(used);
    };
    try {
      for (const subject of ofModel) {
        const admitted = admitConcurrent(subject);
        settles.push(admitted instanceof Promise ? await admitted : admitted);
      }
      for (const kind of MINUTE_KINDS) {
        for (const subject of subjects) {
          const admitted = admitByMinute(subject, kind, request);
          settles.push(admitted instanceof Promise ? await admitted : admitted);
        }
      }
      for (const subject of own) {
        for (const period of PERIODS) {
          const admitted = admitBudget(request, subject, period, { most: cost, moment: at });
          const money = admitted instanceof Promise ? await admitted : admitted;
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
    const bound = cost === undefined ? {} : { cost, at };
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
    if (cost > 0n && pools.size > 0) recount([id, ...tagList(settings.tags).map(tagSubject)], reserved);
  }

  function recount(subjects: readonly string[], except = NO_BUDGETS): void {
    for (const subject of subjects) pools.recount(subject, now(), except);
  }

  function stateOf({ name, limits }: LimitSubject, kind: MinuteKind): WindowState | undefined {
    const limit = minuteLimit(limits, kind);
    return limit === undefined ? undefined : minute(`${name} ${kind}`).state(limit);
  }

  function rateLimitHeadersOf(subjects: readonly LimitSubject[]): Record<string, string> {
    const headers: Record<string, string> = {};
    for (const kind of MINUTE_KINDS) {
      let tightest: WindowState | undefined;
      for (const subject of subjects) {
        const state = stateOf(subject, kind);
        if (state && (!tightest || state.remaining < tightest.remaining)) tightest = state;
      }
      if (tightest) setRateLimit(headers, kind, tightest);
    }
    return headers;
  }

  function forgetEnded(): void {
    const moment = now();
    for (const [name, { lastAt }] of minutes) if (moment - lastAt >= MINUTE_KEPT_MS) minutes.delete(name);
    pools.forgetEnded(moment);
  }

  return {
    rateLimitHeaders: (key, model) =>
      isUnlimited(key, shared())
        ? NO_HEADERS
        : rateLimitHeadersOf([...ownSubjects(key, shared()), ...modelSubjects(key, model)]),

    subjects: (key) => ownSubjects(key, shared()),

    hasBudget: (key) => hasBudget(key, shared()),

    reserved: (budget) => pools.reserved(budget),

    reservations: () => pools.reservations(),

    enter(key) {
      if (isUnlimited(key, shared())) return noop;
      const limited = ownSubjects(key, shared()).filter(({ limits }) => limits.concurrentRequests !== undefined);
      return limited.length === 0 ? noop : admitAllConcurrent(limited);
    },

    takeSlot: ({ id }, { kind, most, message }) => takeSlot(`${id} ${kind}`, most, message),

    recount: (subjects) => recount(subjects),

    checkMinute(key) {
      for (const kind of MINUTE_KINDS) {
        for (const subject of ownSubjects(key, shared())) {
          const state = stateOf(subject, kind);
          if (state?.remaining === 0) throw minuteRefusal(subject.label, kind, state);
        }
      }
    },

    async admitModel(request) {
      const { settle } = await admitTo(request, []);
      return settle;
    },

    async admitRound(request) {
      const { key } = request;
      const settings = { ...key.settings, modelLimits: undefined };
      const budgets = ownSubjects(key, shared()).map((subject) => ({ ...subject, limits: NO_BASIS }));
      const { settle } = await admitTo({ ...request, key: { ...key, settings } }, budgets);
      return () => settle(NOTHING_USED);
    },

    admit(request) {
      const { key } = request;
      if (!isUnlimited(key, shared())) return admitTo(request, ownSubjects(key, shared()));
      return { headers: NO_HEADERS, settle: ({ cost }) => recountOthers(key, cost) };
    },

    renewHolds: () => pools.renew(),

    async releaseIdle() {
      await pools.releaseIdle();
      forgetEnded();
    },

    forgetEnded,

    forgetIdleSlots: () => pools.forgetIdleSlots(),

    get size() {
      return pools.size + minutes.size;
    },
  };
}

function noop(): void {}
