/** Totals of lists of which only the newest rows are counted, on their first page. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { type ListTotal, TOTAL_DEPTH } from '../store/list-search.ts';

/** Members of the response. */
export const totalMembers = {
  total: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: `Entries that the filters leave of the newest ${TOTAL_DEPTH}; absent on later pages.`,
    }),
  ),
  total_complete: Type.Optional(Type.Boolean({ description: 'False if there are entries that were not counted.' })),
};

/** Page of a list with a total, of such entries. */
export function countedList(entry: TSchema) {
  return Type.Object({
    data: Type.Array(entry),
    next: Type.Union([Type.String(), Type.Null()]),
    ...totalMembers,
  });
}

/** Whether the query is for the first page, the only one that counts the total. */
export function isFirstPage(query: URLSearchParams): boolean {
  return !query.has('after');
}

/** Members of a list object; empty if the total was not counted. */
export function encodeTotal(counted: ListTotal | undefined): { total?: number; total_complete?: boolean } {
  return counted ? { total: counted.total, total_complete: counted.isComplete } : {};
}
