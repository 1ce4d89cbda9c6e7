/** Usage recovery: converts the intents of dead gateways to `interrupted` records. */

import type { Logger } from 'pino';
import type { Store } from '../store/store.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { setAsideRecord } from './refused-records.ts';

export interface RecoveryOptions {
  store: Pick<Store, 'call' | 'now'>;
  log: Pick<Logger, 'warn' | 'error'>;
}

/** Intents read at once when they are recovered one by one. */
const RECOVERY_BATCH_SIZE = 1000;

/** Records that the store refuses are set aside, so that they do not block the others. Throws `StoreUnavailable`. */
export async function recoverInterrupted({ store, log }: RecoveryOptions): Promise<void> {
  const requests = await recoverAll({ store, log });
  if (requests > 0) log.warn({ requests }, 'requests were interrupted by the end of a gateway');
}

async function recoverAll({ store, log }: RecoveryOptions): Promise<number> {
  const now = store.now();
  let recovered = 0;
  try {
    for (let hasMore = true; hasMore; ) {
      const part = await store.call('recoverUsage', { now });
      recovered += part.recovered;
      hasMore = part.hasMore;
    }
    return recovered;
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
  }
  const { foldOrphanedGroups } = await import('./orphaned-groups.ts');
  await foldOrphanedGroups({ store, log }, now);
  for (;;) {
    const intents = await store.call('orphanedIntents', { now, limit: RECOVERY_BATCH_SIZE });
    for (const { id, record } of intents) recovered += await recoverOne({ store, log }, { now, id, record });
    if (intents.length < RECOVERY_BATCH_SIZE) return recovered;
  }
}

async function recoverOne(
  { store, log }: RecoveryOptions,
  { now, id, record }: { now: number; id: string; record: string },
): Promise<number> {
  try {
    return (await store.call('recoverUsage', { now, id })).recovered;
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    await setAsideRecord({ store, log }, { id, record, problem: (error as Error).message, now });
    return 0;
  }
}
