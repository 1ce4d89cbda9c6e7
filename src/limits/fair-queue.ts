/** Requests that wait for a share of a limit: served in the order in which they came, with one question to the store for all. */

export interface FairQueueOptions<Item> {
  /** Takes what an item needs of what is here; false, with nothing taken, where too little is here. */
  tryTake(item: Item): boolean;
  /** Asks the store for what all these items need. True where the answer may have been outdated when it came. */
  request(items: readonly Item[]): Promise<boolean>;
}

export interface FairQueue<Item> {
  /** True when the item is served; false when the store has too little left for it. Rejects when the store cannot be asked. */
  acquire(item: Item): Promise<boolean>;
  /** Runs `work` while nobody is served; does nothing while somebody waits. */
  whenIdle(work: () => Promise<void>): Promise<void>;
}

interface Waiter<Item> {
  item: Item;
  /** Outdated answers so far. */
  outdated: number;
  resolve(served: boolean): void;
  reject(error: unknown): void;
}

/** Outdated answers after which an item that does not fit is refused all the same. */
const MAX_OUTDATED_ANSWERS = 5;

export function createFairQueue<Item>({ tryTake, request }: FairQueueOptions<Item>): FairQueue<Item> {
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

  /** Decides on all of them in their order; what comes back is to be asked for once more. */
  async function settle(waiting: Waiter<Item>[]): Promise<Waiter<Item>[]> {
    const unserved = waiting.filter((waiter) => !isServed(waiter));
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
      if (isServed(waiter)) continue;
      if (isOutdated && waiter.outdated++ < MAX_OUTDATED_ANSWERS) again.push(waiter);
      else waiter.resolve(false);
    }
    return again;
  }

  function isServed({ item, resolve }: Waiter<Item>): boolean {
    const served = tryTake(item);
    if (served) resolve(true);
    return served;
  }

  return {
    async acquire(item) {
      if (!isBusy && tryTake(item)) return true;
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
      } finally {
        await serve();
      }
    },
  };
}
