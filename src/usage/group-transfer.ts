/** Transfer of groups that are written down into the tables of records and the sums: several at once, each once. */

import type { Clock } from '../core/clock.ts';
import { GroupFold } from '../store/usage-groups.ts';
import type { FlushWriter } from './flush-writer.ts';

export interface GroupTransferOptions {
  instance: string;
  writer: Pick<FlushWriter, 'write' | 'failing'>;
  clock: Pick<Clock, 'after'>;
  closing: AbortSignal;
}

export interface GroupTransfer {
  /** Adds a group, with its number of records. Numbers of groups that are written down are consecutive. */
  add(group: TransferredGroup): void;
  /** Settles when all groups added so far are in the tables, or the store is unavailable. */
  flushed(): Promise<void>;
  /** Settles when the group in transfer is in the tables, or given up; undefined if none waits. */
  progress(): Promise<void> | undefined;
  /** Lets those go on that wait for groups, since the store is unavailable. */
  release(): void;
  /** Number of records that wait. */
  readonly waiting: number;
}

export interface TransferredGroup {
  number: number;
  records: string;
  /** Number of records in the group. */
  size: number;
  /** The store refused it as one row: its number is that of the next group, too. */
  isRefused?: boolean;
}

/** Time for which a group waits for others. */
const INTERVAL_MS = 1_000;
/** Records of a fold, of which each takes some microseconds of the event loop. */
const MAX_FOLD_SIZE = 500;
const IN_BACKGROUND = { background: true };

export function createGroupTransfer({ instance, writer, clock, closing }: GroupTransferOptions): GroupTransfer {
  let groups: TransferredGroup[] = [];
  /** Ids of requests whose intents are in the store. */
  const intents = new Set<string>();
  let added = 0;
  let stored = 0;
  let running: Promise<void> | undefined;
  let cancelTimer: (() => void) | undefined;
  let waiters: (() => void)[] = [];

  function start(): Promise<void> {
    cancelTimer?.();
    cancelTimer = undefined;
    running ??= run().finally(() => {
      running = undefined;
      release();
      if (groups.length > 0 && !closing.aborted) startOrWait();
    });
    return running;
  }

  function startOrWait(): void {
    if (running) return;
    if (added - stored >= MAX_FOLD_SIZE) void start();
    else cancelTimer ??= clock.after(INTERVAL_MS, start, IN_BACKGROUND);
  }

  async function run(): Promise<void> {
    const taken = takeGroups();
    const [first, last] = [taken[0], taken.at(-1)];
    if (!first || !last) return;
    const fold = new GroupFold(instance, intents);
    for (const { records } of taken) fold.add(records);
    const { finished, withdrawn } = fold;
    // Without rows there is nothing to remove, and none of them that is missing tells that this was done before.
    const place = first.isRefused ? {} : { folded: { instance, after: first.number - 1, to: last.number } };
    await writer.write({ begun: fold.intents(), finished, withdrawn }, place);
    for (const { size } of taken) stored += size;
  }

  /** The first groups, up to the size of a fold, or a group that is larger, or one that was refused. */
  function takeGroups(): TransferredGroup[] {
    let size = 0;
    const isAlone = groups[0]?.isRefused === true;
    const end = groups.findIndex((group, index) => {
      size += group.size;
      return size > MAX_FOLD_SIZE || (index > 0 && (isAlone || group.isRefused === true));
    });
    const taken = groups.slice(0, end < 0 ? groups.length : Math.max(1, end));
    groups = groups.slice(taken.length);
    return taken;
  }

  function release(): void {
    const released = waiters;
    waiters = [];
    for (const done of released) done();
  }

  return {
    add(group) {
      groups.push(group);
      added += group.size;
      startOrWait();
    },
    async flushed() {
      const target = added;
      while (stored < target && !writer.failing && !closing.aborted) {
        void start();
        await new Promise<void>((resolve) => waiters.push(resolve));
      }
    },
    progress: () => (running || groups.length > 0 ? start() : undefined),
    release,
    get waiting() {
      return added - stored;
    },
  };
}
