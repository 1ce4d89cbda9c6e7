/** Retention of stored responses and conversations: deletes those that expired, and those of revoked keys. */

import type { Logger } from 'pino';
import { type Clock, every } from '../core/clock.ts';
import type { Store } from '../store/store.ts';
import { problemOf } from '../store/unavailable.ts';

export interface RetentionOptions {
  store: Pick<Store, 'call'>;
  clock: Pick<Clock, 'after'>;
  /** Clock by which stored data expire. */
  expiry: Pick<Clock, 'now'>;
  log: Pick<Logger, 'warn'>;
}

const SWEEP_INTERVAL_MS = 60_000;
/** Responses that one transaction deletes; a content has up to 20 MiB. */
const BATCH_SIZE = 50;
/** Conversations that one transaction deletes; one has some thousand items. */
const CONVERSATION_BATCH_SIZE = 5;
/** Responses of which one search finds the owners. */
const SEARCH_SIZE = 1000;

/** Sweeps now and every minute, until the returned function is called; it resolves when the last sweep has ended. */
export function startRetention({ store, clock, expiry, log }: RetentionOptions): () => Promise<void> {
  let stopped = false;
  let running: Promise<void> | undefined;

  function sweep(): void {
    running ??= sweepOnce({ store, expiry }, () => stopped)
      .catch((error) =>
        log.warn({ problem: problemOf(error) }, 'stored responses could not be deleted; it is tried again'),
      )
      .finally(() => {
        running = undefined;
      });
  }

  sweep();
  const cancel = every(clock, SWEEP_INTERVAL_MS, sweep);
  return async () => {
    stopped = true;
    cancel();
    await running;
  };
}

async function sweepOnce(
  { store, expiry }: Pick<RetentionOptions, 'store' | 'expiry'>,
  isStopped: () => boolean,
): Promise<void> {
  for (const owner of await store.call('revokedOwnersOfResponses', {})) {
    await inBatches(isStopped, BATCH_SIZE, (limit) => store.call('forgetStoredResponses', { owner, limit }));
    await inBatches(isStopped, CONVERSATION_BATCH_SIZE, (limit) => store.call('forgetConversations', { owner, limit }));
  }
  await inBatches(isStopped, BATCH_SIZE, (limit) => store.call('pruneStoredStreams', { now: expiry.now(), limit }));
  await prune('ownersOfExpiredResponses', 'pruneStoredResponses', BATCH_SIZE);
  await prune('ownersOfExpiredConversations', 'pruneConversations', CONVERSATION_BATCH_SIZE);

  async function prune(
    search: 'ownersOfExpiredResponses' | 'ownersOfExpiredConversations',
    remove: 'pruneStoredResponses' | 'pruneConversations',
    batch: number,
  ): Promise<void> {
    for (;;) {
      const now = expiry.now();
      const owners = await store.call(search, { now, limit: SEARCH_SIZE });
      if (owners.length === 0 || isStopped()) return;
      for (const owner of owners)
        await inBatches(isStopped, batch, (limit) => store.call(remove, { owner, now, limit }));
    }
  }
}

async function inBatches(
  isStopped: () => boolean,
  limit: number,
  remove: (limit: number) => Promise<number>,
): Promise<void> {
  while (!isStopped() && (await remove(limit)) === limit);
}
