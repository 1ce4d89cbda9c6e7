/** Records that the store refuses: kept in a table of their own and in the log, where an operator finds them. */

import type { Logger } from 'pino';
import type { Store } from '../store/store.ts';

export interface RefusedUsage {
  /** The id of the request. */
  id: string;
  /** What was to be written. */
  record: unknown;
  /** For the operator. */
  problem: string;
}

/** False where the log alone has it. */
export async function setAsideRecord(
  { store, log }: { store: Pick<Store, 'call'>; log: Pick<Logger, 'error'> },
  { id, record, problem }: RefusedUsage,
): Promise<boolean> {
  const text =
    typeof record === 'string'
      ? record
      : JSON.stringify(record, (_name, value) => (typeof value === 'bigint' ? String(value) : value));
  let isStored = false;
  let failure: string | undefined;
  try {
    isStored = await store.call('setAsideUsageRecord', { id, now: Date.now(), problem, record: text });
  } catch (error) {
    failure = (error as Error).message;
  }
  log.error({ request: id, problem, kept: isStored, failure, record: text }, 'the store refused a record of use');
  return isStored;
}
