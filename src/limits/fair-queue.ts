/** Fair queue for shares of a limit: served in order of arrival, with one store call for all waiting requests. */

import type { MaybePromise } from '../store/operation.ts';

export interface FairQueueOptions<Item> {
  /**
   * Takes the share of an item locally; false, with nothing taken, if too little is available. `isLast`: the store has just been
   * asked, and has no more.
   */
  tryTake(item: Item, isLast: boolean): boolean;
  /** Requests the shares of all items from the store. True if the result may be outdated. */
  request(items: readonly Item[]): Promise<boolean>;
  /** Called after those that asked the store together were served or refused. */
  onServed?(): void;
}

export interface FairQueue<Item> {
  /** True if the item is served; false if the store has too little left. Rejects if the store is unavailable. */
  acquire(item: Item): Promise<boolean> | true;
  /** Runs `work` exclusively if the queue is idle; else does nothing. */
  whenIdle(work: () => Promise<void>): Promise<void>;
}

interface Waiter<Item> {
  item: Item;
  /** Outdated results so far. */
  outdated: number;
  resolve(served: boolean): void;
  reject(error: unknown): void;
}

/** Outdated results after which an item is refused. */
const MAX_OUTDATED_RESULTS = 5;

export function createFairQueue<Item>({ tryTake, request, onServed }: FairQueueOptions<Item>): FairQueue<Item> {
  let waiters: Waiter<Item>[] = [];
  let isBusy = false;

  async function serve(): Promise<void> {
    isBusy = true;
    while (waiters.length > 0) {
      const asking = waiters;
      waiters = [];
      const retried = await settle(asking);
      waiters = [...retried, ...waiters];
    }
    isBusy = false;
  }

  /** Serves or refuses waiters in order; returns those to retry. */
  async function settle(waiting: Waiter<Item>[]): Promise<Waiter<Item>[]> {
    const unserved = waiting.filter((waiter) => !isServed(waiter, false));
    if (unserved.length === 0) return [];
    let isOutdated: boolean;
    try {
      isOutdated = await request(unserved.map(({ item }) => item));
    } catch (error) {
      for (const { reject } of unserved) reject(error);
      return [];
    }
    const again: Waiter<Item>[] = [];
    for (const waiter of unserved) {
      if (isServed(waiter, !isOutdated || waiter.outdated >= MAX_OUTDATED_RESULTS)) continue;
      if (isOutdated && waiter.outdated++ < MAX_OUTDATED_RESULTS) again.push(waiter);
      else waiter.resolve(false);
    }
    onServed?.();
    return again;
  }

  function isServed({ item, resolve }: Waiter<Item>, isLast: boolean): boolean {
    const served = tryTake(item, isLast);
    if (served) resolve(true);
    return served;
  }

  return {
    acquire(item) {
      if (!isBusy && tryTake(item, false)) return true;
      return new Promise((resolve, reject) => {
        waiters.push({ item, outdated: 0, resolve, reject });
        if (!isBusy) void serve();
      });
    },
    async whenIdle(work) {
      if (isBusy) return;
      isBusy = true;
      try {
        await work();
        onServed?.();
      } finally {
        await serve();
      }
    },
  };
}

/** Uses a value at once where it is known: most limits are decided without the store. */
export function whenKnown<Value, Result>(
  value: MaybePromise<Value>,
  use: (value: Value) => Result,
): MaybePromise<Result> {
  return value instanceof Promise ? value.then(use) : use(value);
}
