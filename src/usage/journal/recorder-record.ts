/** Record of a recorder in its journal: which request it is about, and the caller that waits for it. */

import { RECORD_KINDS } from './format.ts';
import type { JournalRecord } from './journal.ts';

export interface RecorderRecord extends JournalRecord {
  /** Request id. */
  id: string;
  /** Releases the caller, once. */
  done: (() => void) | undefined;
  /** The end of the request of this begin is on its way to the journal. */
  ended: boolean;
  /** The begin is being written again, in a later segment. */
  carried: boolean;
}

/** `payload`: JSON text. `onDurable` is called when the record is on the disk; `done` releases its caller. */
export function createRecord(
  kind: keyof typeof RECORD_KINDS,
  id: string,
  payload: string,
  onDurable: (this: RecorderRecord) => void,
  done?: () => void,
): RecorderRecord {
  return { kind: RECORD_KINDS[kind], payload, segment: 0, end: 0, onDurable, id, done, ended: false, carried: false };
}

export function release(record: RecorderRecord): void {
  const { done } = record;
  record.done = undefined;
  done?.();
}
