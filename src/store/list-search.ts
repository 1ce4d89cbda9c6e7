/** Lists that are searched: a page looks at so many rows, and a total counts among the newest. */

import type { Row } from './operation.ts';

/** Number of rows that one page of a search looks at. */
export const SEARCH_DEPTH = 5000;
/** Number of rows that a total looks at. */
export const TOTAL_DEPTH = 10_000;

/** Unix milliseconds of the creation; `to` is exclusive. */
export interface CreatedBetween {
  from?: number | undefined;
  to?: number | undefined;
}

/** Adds the conditions of the span on `created_at`. */
export function addCreatedBetween(conditions: string[], values: Row, { from, to }: CreatedBetween): void {
  if (from !== undefined) {
    conditions.push('created_at >= :from');
    values.from = from;
  }
  if (to !== undefined) {
    conditions.push('created_at < :to');
    values.to = to;
  }
}

export interface ListTotal {
  total: number;
  /** False if there are rows that it did not look at. */
  isComplete: boolean;
}

/** Rows of a page; `last` is the last one that was looked at, absent if that was the end of the list. */
export interface FoundRows {
  found: Row[];
  last?: Row;
}

/** Returns the first `limit` matches. `depth`: limit of the read, so that fewer rows are the end of the list. */
export function findRows(
  seen: readonly Row[],
  { limit, depth }: { limit: number; depth: number },
  matches: (row: Row) => boolean,
): FoundRows {
  const found: Row[] = [];
  let looked = 0;
  for (const row of seen) {
    if (found.length === limit) break;
    looked++;
    if (matches(row)) found.push(row);
  }
  const last = seen[looked - 1];
  const isOver = looked === seen.length && seen.length < depth;
  return { found, ...(!isOver && last && { last }) };
}

/** `seen` has one row more than are counted, where there is one. */
export function totalOf(seen: readonly Row[], matches: (row: Row) => boolean): ListTotal {
  return { total: seen.slice(0, TOTAL_DEPTH).filter(matches).length, isComplete: seen.length <= TOTAL_DEPTH };
}

/** Whether one of the texts has the one that is looked for, in upper or lower case. */
export function hasText(search: string | undefined, texts: readonly unknown[]): boolean {
  if (search === undefined) return true;
  const wanted = search.toLowerCase();
  return texts.some((text) => typeof text === 'string' && text.toLowerCase().includes(wanted));
}
