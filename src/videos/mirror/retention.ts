/** Removes what nobody may ask for any more: media past their time, and files without a task. */

import type { MediaStore } from './media-store.ts';

export interface RetentionOptions {
  stores: readonly MediaStore[];
  /** Milliseconds that media are kept. */
  keepMedia: number;
}

/** The tasks among these whose media are still wanted, or still on their way. */
export type Wanted = (taskIds: string[]) => Promise<ReadonlySet<string>>;

export interface Retention {
  /** Removes media that came longer ago than they are kept. Gives the number of files removed. */
  expire(now: number): Promise<number>;
  /** Removes files of tasks that are not wanted, and parts that nothing has been added to for a day. */
  sweep(now: number, wanted: Wanted): Promise<number>;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const BATCH = 100;

export function createRetention({ stores, keepMedia }: RetentionOptions): Retention {
  async function remove(isDue: (name: string, modifiedAt: number) => boolean): Promise<number> {
    let count = 0;
    for (const store of stores) {
      for await (const { name, modifiedAt } of store.list()) {
        if (!isDue(name, modifiedAt)) continue;
        await store.remove(name);
        count++;
      }
    }
    return count;
  }

  async function sweepOrphans(store: MediaStore, now: number, wanted: Wanted): Promise<number> {
    let count = 0;
    let batch: { name: string; taskId: string }[] = [];
    async function flush(): Promise<void> {
      const ids = await wanted([...new Set(batch.map(({ taskId }) => taskId))]);
      for (const { name } of batch.filter(({ taskId }) => !ids.has(taskId))) {
        await store.remove(name);
        count++;
      }
      batch = [];
    }
    for await (const { name, taskId, modifiedAt } of store.list()) {
      if (now - modifiedAt < HOUR) continue;
      batch.push({ name, taskId });
      if (batch.length === BATCH) await flush();
    }
    if (batch.length > 0) await flush();
    return count;
  }

  return {
    expire: (now) => remove((_name, modifiedAt) => now - modifiedAt >= keepMedia),
    async sweep(now, wanted) {
      let count = await remove((name, modifiedAt) => /\.part($|\.)/.test(name) && now - modifiedAt >= DAY);
      for (const store of stores) count += await sweepOrphans(store, now, wanted);
      return count;
    },
  };
}
