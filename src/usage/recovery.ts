/** Usage recovery: converts the intents of dead gateways to `interrupted` records. */

import type { Logger } from 'pino';
import { systemClock } from '../core/clock.ts';
import type { Store } from '../store/store.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { GroupFold } from '../store/usage-groups.ts';
import { createFlushWriter } from './flush-writer.ts';
import { setAsideRecord } from './refused-records.ts';

export interface RecoveryOptions {
  store: Pick<Store, 'call' | 'now'>;
  log: Pick<Logger, 'warn' | 'error'>;
}

/** Intents read at once when they are recovered one by one. */
const RECOVERY_BATCH_SIZE = 1000;
/** Groups that are folded at once when their records are written one by one. */
const GROUPS_AT_ONCE = 100;

/** Records that the store refuses are set aside, so that they do not block the others. Throws `StoreUnavailable`. */
export async function recoverInterrupted({ store, log }: RecoveryOptions): Promise<void> {
  const requests = await recoverAll({ store, log });
  if (requests > 0) log.warn({ requests }, 'requests were interrupted by the end of a gateway');
}

async function recoverAll({ store, log }: RecoveryOptions): Promise<number> {
  const now = store.now();
  try {
    return await store.call('recoverUsage', { now });
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
  }
  await foldOrphanedGroups({ store, log }, now);
  let recovered = 0;
  for (;;) {
    const intents = await store.call('orphanedIntents', { now, limit: RECOVERY_BATCH_SIZE });
    for (const { id, record } of intents) recovered += await recoverOne({ store, log }, { now, id, record });
    if (intents.length < RECOVERY_BATCH_SIZE) return recovered;
  }
}

/** Without the records that the store refuses, which are set aside. Requests that did not end become intents of the dead gateway. */
async function foldOrphanedGroups({ store, log }: RecoveryOptions, now: number): Promise<void> {
  const closing = new AbortController();
  const onDelay = () => closing.abort();
  const writer = createFlushWriter({ store, log, clock: systemClock, closing: closing.signal, onDelay });
  for (;;) {
    const groups = await store.call('orphanedGroups', { now, limit: GROUPS_AT_ONCE });
    const [first, last] = [groups[0], groups.at(-1)];
    if (!first || !last) return;
    const { instance } = first;
    const fold = new GroupFold(instance);
    for (const { records } of groups) fold.add(records);
    const { finished, withdrawn } = fold;
    const folded = { instance, after: first.number - 1, to: last.number };
    await writer.write({ begun: fold.intents(), finished, withdrawn }, { folded });
    if (writer.failing) throw new StoreUnavailable('usage records cannot be written');
  }
}

async function recoverOne(
  { store, log }: RecoveryOptions,
  { now, id, record }: { now: number; id: string; record: string },
): Promise<number> {
  try {
    return await store.call('recoverUsage', { now, id });
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    await setAsideRecord({ store, log }, { id, record, problem: (error as Error).message, now });
    return 0;
  }
}
