/** Streams of background responses: batches of events, written by the job of the response while it runs. */

import { type Row, reading, type Transaction, writing } from '../operation.ts';
import { addEvents, type EventBatch, type ReadRoom } from '../stored-rows.ts';

/** A page has about as many bytes as a few batches. */
const PAGE_BATCHES = 4;

/**
 * Appends a batch, or marks the stream as truncated if it has no room for it; a batch that is there already is not appended
 * again. False, with nothing changed, if the response is finished or deleted.
 */
export const appendStoredEvents = writing<{ row: string; batch: EventBatch; maxBytes: number }, boolean>(
  'state',
  async (transaction, { row, batch, maxBytes }) => {
    const open = await transaction.all(
      `SELECT row_id FROM stored_response WHERE row_id = :row AND status = 'in_progress' ${transaction.forUpdate}`,
      { row },
    );
    if (open.length === 0) return false;
    const [stream] = await transaction.all('SELECT next, bytes, truncated FROM stored_stream WHERE row_id = :row', {
      row,
    });
    if (!stream || Number(stream.truncated) === 1) return false;
    if (Number(stream.next) === batch.last + 1) return true;
    if (Number(stream.next) !== batch.first) return false;
    if (Number(stream.bytes) + batch.content.length > maxBytes) {
      await transaction.run('UPDATE stored_stream SET truncated = 1 WHERE row_id = :row', { row });
      return true;
    }
    await addEvents(transaction, row, batch);
    return true;
  },
);

export interface StreamPage {
  status: string;
  /** Number of the event after the last one that is kept. */
  next: number;
  isTruncated: boolean;
  batches: EventBatch[];
  /** Bytes of the next batch, if these are more than there was room for: then no batch was read. */
  needs?: number;
}

/** Batches with events from a number on, as many as there is room for; undefined if the stream is not kept. */
export const readStoredStream = reading<{ row: string; from: number; now: number } & ReadRoom, StreamPage | undefined>(
  'state',
  async (transaction, { row, from, now, room = Number.POSITIVE_INFINITY }) => {
    // The status comes first: if it is final, so are the batches.
    const [response] = await transaction.all('SELECT status FROM stored_response WHERE row_id = :row', { row });
    const [stream] = await transaction.all(
      'SELECT next, truncated FROM stored_stream WHERE row_id = :row AND expires_at > :now',
      { row, now },
    );
    if (!response || !stream) return undefined;
    const sizes = await transaction.all(
      `SELECT last, length(content) AS bytes FROM stored_event WHERE row_id = :row AND last >= :from
       ORDER BY first LIMIT ${PAGE_BATCHES}`,
      { row, from },
    );
    let bytes = 0;
    const fitting = sizes.filter((size) => {
      bytes += Number(size.bytes);
      return bytes <= room;
    });
    const [first] = sizes;
    const to = Number(fitting.at(-1)?.last ?? -1);
    const batches = await transaction.all(
      `SELECT first, last, content FROM stored_event WHERE row_id = :row AND last >= :from AND last <= :to ORDER BY first`,
      { row, from, to },
    );
    return {
      status: String(response.status),
      // Events may have been added since.
      next: Math.max(Number(stream.next), Number(sizes.at(-1)?.last ?? -1) + 1),
      isTruncated: Number(stream.truncated) === 1,
      batches: batches.map(batchOf),
      ...(first && fitting.length === 0 && { needs: Number(first.bytes) }),
    };
  },
);

/** Deletes up to `limit` expired streams; returns their number. */
export const pruneStoredStreams = writing<{ now: number; limit: number }, number>(
  'state',
  async (transaction, { now, limit }) => {
    const rows = await transaction.all(
      'SELECT row_id FROM stored_stream WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit',
      { now, limit },
    );
    for (const { row_id: row = null } of rows) await removeStream(transaction, row);
    return rows.length;
  },
);

async function removeStream(transaction: Transaction, row: Row[string]): Promise<void> {
  await transaction.run('DELETE FROM stored_event WHERE row_id = :row', { row });
  await transaction.run('DELETE FROM stored_stream WHERE row_id = :row', { row });
}

/** Batches after a row and a number, for a change of the encryption key. */
export const scanStoredEvents = reading<
  { row: string; first: number; limit: number },
  { row: string; first: number; content: Uint8Array }[]
>('state', async (transaction, values) => {
  const rows = await transaction.all(
    `SELECT row_id, first, content FROM stored_event WHERE (row_id, first) > (:row, :first)
     ORDER BY row_id, first LIMIT :limit`,
    values,
  );
  return rows.map(({ row_id, first, content }) => ({
    row: String(row_id),
    first: Number(first),
    content: content as Uint8Array,
  }));
});

/** Compare-and-set; false if the batch was deleted meanwhile. */
export const replaceStoredEvents = writing<{ row: string; first: number; from: Uint8Array; to: Uint8Array }, boolean>(
  'state',
  async (transaction, values) => {
    const sql = 'UPDATE stored_event SET content = :to WHERE row_id = :row AND first = :first AND content = :from';
    return (await transaction.run(sql, { ...values })) > 0;
  },
);

function batchOf({ first, last, content }: Row): EventBatch {
  return { first: Number(first), last: Number(last), content: content as Uint8Array };
}
