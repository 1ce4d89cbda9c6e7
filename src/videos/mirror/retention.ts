/** Mirror retention: removes abandoned partial files and files without a task. */

import type { Clock } from '../../core/clock.ts';
import type { MediaStore } from './media-store.ts';
import type { MirrorLog } from './writer.ts';

export interface MirrorRetentionOptions {
  stores: readonly MediaStore[];
  /** Retention of media. */
  keepMediaMs: number;
}

export interface Retention {
  /**
   * Removes partial files without a change for a day, and media a day after the end of their retention, by which time
   * their tasks should have deleted them. Returns the number of removed files.
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

/** Removes expired files hourly until the returned function is called. Failures are logged. */
export function startHourlyCleanup(
  { removeExpired }: Retention,
  clock: Pick<Clock, 'now' | 'after'>,
  log: MirrorLog,
): () => void {
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
