/** Retention of stored responses and conversations: deletes those that expired, and those of revoked keys. */

import type { Logger } from 'pino';
import { type Clock, every } from '../core/clock.ts';
import type { Store } from '../store/store.ts';

export interface RetentionOptions {
  store: Pick<Store, 'call'>;
  clock: Pick<Clock, 'now' | 'after'>;
  log: Pick<Logger, 'warn'>;
}

const SWEEP_INTERVAL_MS = 60_000;
/** Responses that one transaction deletes; a content has up to 20 MiB. */
const BATCH_SIZE = 50;
/** Responses of which one search finds the owners. */
const SEARCH_SIZE = 1000;

/** Sweeps now and every minute, until the returned function is called; it resolves when the last sweep has ended. */
export function startRetention({ store, clock, log }: RetentionOptions): () => Promise<void> {
  let stopped = false;
  let running: Promise<void> | undefined;

  function sweep(): void {
    running ??= sweepOnce({ store, clock }, () => stopped)
      .catch((error) =>
        log.warn({ problem: error.message }, 'stored responses could not be deleted; it is tried again'),
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
  { store, clock }: Pick<RetentionOptions, 'store' | 'clock'>,
  isStopped: () => boolean,
): Promise<void> {
  for (const owner of await store.call('revokedOwnersOfResponses', {})) {
    await inBatches(isStopped, () => store.call('forgetStoredResponses', { owner, limit: BATCH_SIZE }));
    await inBatches(isStopped, () => store.call('forgetConversations', { owner, limit: BATCH_SIZE }));
  }
  await inBatches(isStopped, () => store.call('pruneStoredStreams', { now: clock.now(), limit: BATCH_SIZE }));
  await prune('ownersOfExpiredResponses', 'pruneStoredResponses');
  await prune('ownersOfExpiredConversations', 'pruneConversations');

  async function prune(
    search: 'ownersOfExpiredResponses' | 'ownersOfExpiredConversations',
    remove: 'pruneStoredResponses' | 'pruneConversations',
  ): Promise<void> {
    for (;;) {
      const now = clock.now();
      const owners = await store.call(search, { now, limit: SEARCH_SIZE });
      if (owners.length === 0 || isStopped()) return;
      for (const owner of owners)
        await inBatches(isStopped, () => store.call(remove, { owner, now, limit: BATCH_SIZE }));
    }
  }
}

async function inBatches(isStopped: () => boolean, remove: () => Promise<number>): Promise<void> {
  while (!isStopped() && (await remove()) === BATCH_SIZE);
}
