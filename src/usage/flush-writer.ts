/** Writer of flushes, which tries again while the store is unavailable, and sets aside records that the store refuses. */

import type { Logger } from 'pino';
import { type Clock, sleep } from '../core/clock.ts';
import type { ParametersOf, Store } from '../store/store.ts';
import { StoreUnavailable, storeRetryDelay } from '../store/unavailable.ts';
import { entriesOf, type Flush, joinEntries, requestIdOf } from './flush.ts';
import { setAsideRecord } from './refused-records.ts';

export interface FlushWriterOptions {
  store: Pick<Store, 'call'>;
  log: Pick<Logger, 'error'>;
  clock: Pick<Clock, 'now' | 'after'>;
  /** Aborted when retries are given up. */
  closing: AbortSignal;
  /** Called before each delay, while the store is unavailable. */
  onDelay(): void;
}

/** Place of a flush: its turn, or the groups that amount to it. */
type Place = Pick<ParametersOf<'recordUsage'>, 'turn' | 'folded'>;

export interface FlushWriter {
  /** Settles when everything is written or set aside, or when it is given up. */
  write(flush: Flush, place: Place): Promise<void>;
  /** Runs `work` until the store is available; false if it is given up. Rejects with other errors. */
  retry(work: () => Promise<unknown>): Promise<boolean>;
  /** Whether the store is unavailable. */
  readonly failing: boolean;
  /** Number of records that were set aside. */
  readonly refused: number;
  /** Number of refused records that are only in the log. */
  readonly lost: number;
}

const IN_BACKGROUND = { background: true };

export function createFlushWriter({ store, log, clock, closing, onDelay }: FlushWriterOptions): FlushWriter {
  let failing = false;
  let refused = 0;
  let lost = 0;

  async function retry(work: () => Promise<unknown>): Promise<boolean> {
    for (let failures = 1; ; failures++) {
      try {
        await work();
        failing = false;
        return true;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        if (!failing) log.error({ problem: error.problem }, 'usage records cannot be written; retrying');
        failing = true;
        onDelay();
        await sleep(clock, storeRetryDelay(failures), closing, IN_BACKGROUND);
        if (closing.aborted) return false;
      }
    }
  }

  async function write(flush: Flush, place: Place): Promise<void> {
    try {
      await retry(() => store.call('recordUsage', { ...flush, ...place }));
    } catch (error) {
      const problem = error as Error;
      if (entriesOf(flush).length === 0) {
        // A later fold of these groups finds their records in the tables.
        log.error({ problem: problem.message }, 'the store refused to remove groups of usage records');
      } else if (place.folded) {
        // The store may refuse either of them.
        await write(flush, {});
        await write(NOTHING, place);
      } else await isolate(flush, problem);
    }
  }

  /** Bisects a refused flush until each refused record is isolated. */
  async function isolate(flush: Flush, problem: Error): Promise<void> {
    const entries = entriesOf(flush);
    const [only, ...others] = entries;
    if (only === undefined) return;
    if (others.length > 0) {
      const half = Math.ceil(entries.length / 2);
      for (const part of [entries.slice(0, half), entries.slice(half)]) await write(joinEntries(part), {});
      return;
    }
    const request = requestIdOf(only);
    if (!('finished' in only)) {
      log.error({ request, problem: problem.message, entry: only }, 'the store refused the intent of a request');
      return;
    }
    const refusal = { id: request, record: only.finished.row, problem: problem.message, now: clock.now() };
    if (await setAsideRecord({ store, log }, refusal)) refused += 1;
    else lost += 1;
  }

  return {
    write,
    retry,
    get failing() {
      return failing;
    },
    get refused() {
      return refused;
    },
    get lost() {
      return lost;
    },
  };
}

const NOTHING: Flush = { begun: [], finished: [], withdrawn: [] };
