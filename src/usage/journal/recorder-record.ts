/** Record of a recorder in its journal: which request it is about, and the caller that waits for it. */

import type { Linked } from '../../core/linked-list.ts';
import type { Intent } from '../record.ts';
import { RECORD_KINDS } from './format.ts';
import type { JournalRecord } from './journal.ts';

export interface RecorderRecord extends JournalRecord, Linked<RecorderRecord> {
  /** Request id. */
  id: string;
  /** The begin that this record ends or writes again. */
  begin: RecorderRecord | undefined;
  /** Releases the caller, once. */
  done: (() => void) | undefined;
  /** The end of the request of this begin is on its way to the journal. */
  ended: boolean;
  /** The begin is being written again, in a later segment. */
  carried: boolean;
}

export type RecordContent = Pick<RecorderRecord, 'id' | 'payload'> & Partial<Pick<RecorderRecord, 'begin'>>;

/** `payload`: JSON text. `onDurable` is called when the record is on the disk; `done` releases its caller. */
export function createRecord(
  kind: keyof typeof RECORD_KINDS,
  { id, payload, begin }: RecordContent,
  onDurable: (this: RecorderRecord) => void,
  done?: () => void,
): RecorderRecord {
  return {
    kind: RECORD_KINDS[kind],
    payload,
    segment: 0,
    end: 0,
    onDurable,
    id,
    begin,
    done,
    ended: false,
    carried: false,
    previous: undefined,
    next: undefined,
  };
}

export function release(record: RecorderRecord): void {
  const { done } = record;
  record.done = undefined;
  done?.();
}

/** The begin that the recorder wrote for the intent, once. */
export function takeBegin(intent: Pick<Intent, 'entry'>): RecorderRecord | undefined {
  const { entry } = intent;
  intent.entry = undefined;
  return entry as RecorderRecord | undefined;
}
