/** Removes what was left behind: parts that nobody goes on with, and files that no task leads to any more. */

import type { Clock } from '../../core/clock.ts';
import type { MediaStore } from './media-store.ts';
import type { MirrorLog } from './writer.ts';

export interface MirrorRetentionOptions {
  stores: readonly MediaStore[];
  /** Milliseconds that media are kept. */
  keepMediaMs: number;
}

export interface Retention {
  /**
   * Tasks erase their media themselves; this removes parts that nothing was added to for a day, and media a day after
   * every task must have erased its own. Gives the number of files removed.
   */
  removeExpired(now: number): Promise<number>;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export function createRetention({ stores, keepMediaMs }: MirrorRetentionOptions): Retention {
  const maxAgeOf = (name: string) => (/\.part(\.json)?(\.new)?$/.test(name) ? DAY_MS : keepMediaMs + DAY_MS);

  return {
    async removeExpired(now) {
      let count = 0;
      for (const store of stores) {
        for await (const { name, modifiedAt } of store.list()) {
          if (now - modifiedAt < maxAgeOf(name)) continue;
          await store.remove(name);
          count++;
        }
      }
      return count;
    },
  };
}

/** Expires once an hour until the returned function is called; a failure waits for the next time. */
export function startHourlyCleanup({ removeExpired }: Retention, clock: Clock, log: MirrorLog): () => void {
  let cancel = clock.after(HOUR_MS, run);
  let isStopped = false;

  async function run(): Promise<void> {
    await removeExpired(clock.now()).catch((err) => log.warn({ err }, 'left-over videos could not be removed'));
    if (!isStopped) cancel = clock.after(HOUR_MS, run);
  }

  return () => {
    isStopped = true;
    cancel();
  };
}
