/** Group of journal records that are written together. */

import { HEADER_BYTES } from './format.ts';

export const MIN_BUFFER_BYTES = 64 * 1024;

/** Records encoded one after another behind room for a header. */
export interface Group<Entry> {
  bytes: Buffer;
  end: number;
  records: Entry[];
}

export function emptyGroup<Entry>(): Group<Entry> {
  return { bytes: Buffer.allocUnsafe(MIN_BUFFER_BYTES), end: HEADER_BYTES, records: [] };
}
