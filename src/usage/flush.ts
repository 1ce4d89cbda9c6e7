/** Flush of the usage recorder: the intents and records that one transaction writes. */

import type { ParametersOf } from '../store/store.ts';
import { encodeEnd, encodeRow } from './journal/records.ts';
import { type Completion, completedRow, type Intent, intentRow } from './record.ts';

export interface BegunRecord {
  intent: Intent;
  done(): void;
}

export interface FinishedRecord extends BegunRecord {
  completion: Completion;
}

/** Records that wait for the next flush. */
export interface PendingBatch {
  begun: BegunRecord[];
  finished: FinishedRecord[];
  /** Intents whose request was not sent. */
  withdrawn: Flush['withdrawn'];
}

/** Parameters of `recordUsage` without the place in the journal. */
export type Flush = Required<Omit<ParametersOf<'recordUsage'>, 'turn' | 'folded'>>;

/** One row of a flush. The rows belong to different requests, so each can be written without the others. */
export type Entry =
  | { begun: Flush['begun'][number] }
  | { finished: Flush['finished'][number] }
  | { withdrawn: Flush['withdrawn'][number] };

export function emptyBatch(): PendingBatch {
  return { begun: [], finished: [], withdrawn: [] };
}

/** Number of rows. */
export function sizeOf({ begun, finished, withdrawn }: PendingBatch): number {
  return begun.length + finished.length + withdrawn.length;
}

/** A record that cannot become a row. */
export type UnencodableHandler = (id: string, error: Error) => void;

/** Records alone: batched requests have no intents. */
export function flushOf({ finished }: PendingBatch, onUnencodable: UnencodableHandler): Flush {
  const rows = encoded(finished, ({ intent, completion }) => completedRow(intent, completion), onUnencodable);
  return { begun: [], finished: rows.map((row) => ({ row, begun: false })), withdrawn: [] };
}

/** A batch as an `EncodedGroup`. A request that begins and ends within it needs no intent. */
export function groupOf({ begun, finished, withdrawn }: PendingBatch, onUnencodable: UnencodableHandler): string {
  const ended = new Set([...finished.map(({ intent }) => intent.id), ...withdrawn.map(({ id }) => id)]);
  const open = begun.filter(({ intent }) => !ended.has(intent.id));
  const begins = encoded(open, ({ intent }) => encodeRow(intentRow(intent)), onUnencodable);
  const ends = encoded(finished, ({ intent, completion }) => encodeEnd(intent, completion), onUnencodable);
  const gone = withdrawn.map(({ id, started_at }) => [id, started_at]);
  return `[[${begins.join(',')}],[${ends.join(',')}],${JSON.stringify(gone)}]`;
}

function encoded<Item extends BegunRecord, Made>(
  items: readonly Item[],
  encode: (item: Item) => Made,
  onUnencodable: UnencodableHandler,
): Made[] {
  return items.flatMap((item) => {
    try {
      return [encode(item)];
    } catch (error) {
      onUnencodable(item.intent.id, error as Error);
      return [];
    }
  });
}

export function entriesOf({ begun, finished, withdrawn }: Flush): Entry[] {
  return [
    ...begun.map((row) => ({ begun: row })),
    ...finished.map((row) => ({ finished: row })),
    ...withdrawn.map((row) => ({ withdrawn: row })),
  ];
}

export function joinEntries(entries: readonly Entry[]): Flush {
  const flush: Flush = { begun: [], finished: [], withdrawn: [] };
  for (const entry of entries) {
    if ('begun' in entry) flush.begun.push(entry.begun);
    else if ('finished' in entry) flush.finished.push(entry.finished);
    else flush.withdrawn.push(entry.withdrawn);
  }
  return flush;
}

export function requestIdOf(entry: Entry): string {
  if ('begun' in entry) return entry.begun.id;
  return 'finished' in entry ? entry.finished.row.id : entry.withdrawn.id;
}
