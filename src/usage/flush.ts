/** Flush of the usage recorder: the intents and records that one transaction writes. */

import type { ParametersOf } from '../store/store.ts';
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

/** Without its turn, which it gets when it is written. */
export type Flush = Required<Omit<ParametersOf<'recordUsage'>, 'turn'>>;

/** One row of a flush. The rows belong to different requests, so each can be written without the others. */
export type Entry =
  | { begun: Flush['begun'][number] }
  | { finished: Flush['finished'][number] }
  | { withdrawn: Flush['withdrawn'][number] };

export interface FlushOptions {
  instance: string;
  /** Whether write-ahead intents are written. */
  strict: boolean;
  /** Ids of requests whose intents could not be written; finished ones are removed. */
  withoutIntent: Set<string>;
}

export function emptyBatch(): PendingBatch {
  return { begun: [], finished: [], withdrawn: [] };
}

export function sizeOf({ begun, finished, withdrawn }: PendingBatch): number {
  return begun.length + finished.length + withdrawn.length;
}

/** A request that begins and ends within one flush needs no intent. `onUnencodable` is called for records that cannot become a row. */
export function flushOf(
  { begun, finished, withdrawn }: PendingBatch,
  { instance, strict, withoutIntent }: FlushOptions,
  onUnencodable: (id: string, error: Error) => void,
): Flush {
  const ended = new Set([...finished.map(({ intent }) => intent.id), ...withdrawn.map(({ id }) => id)]);
  const endedAtOnce = new Set(begun.filter(({ intent }) => ended.has(intent.id)).map(({ intent }) => intent.id));
  const rows = <Item extends BegunRecord, Made>(items: readonly Item[], make: (item: Item) => Made): Made[] =>
    items.flatMap((item) => {
      try {
        return [make(item)];
      } catch (error) {
        onUnencodable(item.intent.id, error as Error);
        return [];
      }
    });
  return {
    withdrawn: withdrawn.filter(({ id }) => !withoutIntent.delete(id)),
    begun: rows(
      begun.filter(({ intent }) => !endedAtOnce.has(intent.id)),
      ({ intent }) => begunRow(intent, instance),
    ),
    finished: rows(finished, ({ intent, completion }) => {
      const isIntended = strict && !endedAtOnce.has(intent.id) && !withoutIntent.delete(intent.id);
      return { row: completedRow(intent, completion), begun: isIntended };
    }),
  };
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

function begunRow(intent: Intent, instance: string): Flush['begun'][number] {
  const row = intentRow(intent);
  const record = JSON.stringify({ ...row, cost: String(row.cost) });
  return { id: intent.id, instance, started_at: intent.startedAt, record };
}
