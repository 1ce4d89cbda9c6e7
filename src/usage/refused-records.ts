/** Refused usage records: set aside in a separate table and logged for the operator. */

import type { Logger } from 'pino';
import type { Store } from '../store/store.ts';

export interface RefusedUsage {
  /** Request id. */
  id: string;
  /** Record that was refused. */
  record: unknown;
  /** Reason of the refusal, for the operator. */
  problem: string;
  /** Unix milliseconds. */
  now: number;
}

/** False if the record is only in the log. */
export async function setAsideRecord(
  { store, log }: { store: Pick<Store, 'call'>; log: Pick<Logger, 'error'> },
  { id, record, problem, now }: RefusedUsage,
): Promise<boolean> {
  const text =
    typeof record === 'string'
      ? record
      : JSON.stringify(record, (_name, value) => (typeof value === 'bigint' ? String(value) : value));
  let isStored = false;
  let failure: string | undefined;
  try {
    isStored = await store.call('setAsideUsageRecord', { id, now, problem, record: text });
  } catch (error) {
    failure = (error as Error).message;
  }
  log.error({ request: id, problem, kept: isStored, failure, record: text }, 'the store refused a usage record');
  return isStored;
}
