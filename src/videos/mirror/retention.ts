/** Removes what was left behind: parts that nobody goes on with, and files that no task leads to any more. */

import type { Clock } from '../../core/clock.ts';
import type { Log } from './keeper.ts';
import type { MediaStore } from './media-store.ts';

export interface MirrorRetentionOptions {
  stores: readonly MediaStore[];
  /** Milliseconds that media are kept. */
  keepMedia: number;
}

export interface Retention {
  /**
   * Tasks erase their media themselves; this removes parts that nothing was added to for a day, and media a day after
   * every task must have erased its own. Gives the number of files removed.
   */
  expire(now: number): Promise<number>;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export function createRetention({ stores, keepMedia }: MirrorRetentionOptions): Retention {
  const limitOf = (name: string) => (/\.part(\.json)?(\.new)?$/.test(name) ? DAY : keepMedia + DAY);

  return {
    async expire(now) {
      let count = 0;
      for (const store of stores) {
        for await (const { name, modifiedAt } of store.list()) {
          if (now - modifiedAt < limitOf(name)) continue;
          await store.remove(name);
          count++;
        }
      }
      return count;
    },
  };
}

/** Expires once an hour until the returned function is called; a failure waits for the next time. */
export function expireHourly({ expire }: Retention, clock: Clock, log: Log): () => void {
  let cancel = clock.after(HOUR, run);
  let isStopped = false;

  async function run(): Promise<void> {
    await expire(clock.now()).catch((err) => log.warn({ err }, 'left-over videos could not be removed'));
    if (!isStopped) cancel = clock.after(HOUR, run);
  }

  return () => {
    isStopped = true;
    cancel();
  };
}
