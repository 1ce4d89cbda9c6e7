/** Limits of callers: a steady rate with bursts (generic cell rate algorithm), and reads of many rows at once. */

import { monotonicNow } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { MaybePromise } from '../store/operation.ts';

export interface RateOptions {
  /** Calls per second. */
  rate: number;
  /** Calls at once after a pause. */
  burst: number;
  /** Milliseconds. */
  now?(): number;
}

/** Counts a call and returns 0, or returns the milliseconds to wait without counting it. */
export type Rate = (caller: string) => number;

/** A rate that several processes may count together. */
export type SharedRate = (caller: string) => MaybePromise<number>;

/** Rates of one name are one rate. */
export type CreateSharedRate = (name: string, options: RateOptions) => SharedRate;

/** Creates a rate in the memory of this process; each caller has its own. */
export function createRate({ rate, burst, now = monotonicNow }: RateOptions): Rate {
  const interval = 1000 / rate;
  /** Theoretical arrival time of each caller, in order of the last call. */
  const arrivalAt = new Map<string, number>();

  function forget(moment: number): void {
    for (const [caller, at] of arrivalAt) {
      if (at > moment) return;
      arrivalAt.delete(caller);
    }
  }

  return (caller) => {
    const moment = now();
    const from = Math.max(arrivalAt.get(caller) ?? moment, moment);
    const wait = from + interval - moment - burst * interval;
    if (wait > 0) return Math.ceil(wait);
    arrivalAt.delete(caller);
    arrivalAt.set(caller, from + interval);
    forget(moment);
    return 0;
  };
}

/** Runs a read of a caller. Rejects with `rate_limit_exceeded` while as many run as may at once. */
export type ReadLimit = <Result>(caller: string, read: () => Promise<Result>) => Promise<Result>;

/** More than the connections that a browser opens. */
const READS_PER_CALLER = 8;
const READS_IN_TOTAL = 32;
const READ_RETRY_MS = 1000;

/** Limits reads of many rows, for which the store has few connections or one thread. */
export function createReadLimit(): ReadLimit {
  const running = new Map<string, number>();
  let total = 0;

  return async (caller, read) => {
    const own = running.get(caller) ?? 0;
    if (own >= READS_PER_CALLER || total >= READS_IN_TOTAL) {
      const whose = own >= READS_PER_CALLER ? 'of this key' : 'of all keys';
      const message = `Too many reports and lists ${whose} are being read; wait for their end.`;
      throw new GatewayError('rate_limit_exceeded', message, { retryAfter: READ_RETRY_MS });
    }
    running.set(caller, own + 1);
    total += 1;
    try {
      return await read();
    } finally {
      total -= 1;
      const left = (running.get(caller) ?? 1) - 1;
      if (left === 0) running.delete(caller);
      else running.set(caller, left);
    }
  };
}
