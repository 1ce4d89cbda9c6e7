/** Background responses: accepted with their job, started, cancelled, and watched while they run. */

import type { StoredResponse } from '../../records/stored-response.ts';
import { addJob, finishJob, type Lease, lockLeasedJob, type NewJob, removeJob } from '../job-rows.ts';
import { reading, writing } from '../operation.ts';
import { makeRoom } from '../stored-room.ts';
import {
  addEvents,
  addStored,
  type EventBatch,
  expireStream,
  HEAD_COLUMNS,
  listsOf,
  lockTotal,
  type NewStoredResponse,
  partsOf,
  STORED_COLUMNS,
  type StoredLimits,
  setTotal,
  storedResponseOf,
} from '../stored-rows.ts';
import type { ReadStoredResponse } from './stored-responses.ts';

const OPEN = `status IN ('queued', 'in_progress')`;

export interface AcceptedBackground extends NewStoredResponse {
  limits: StoredLimits;
  /** Unfinished responses that the owner may have. */
  mostOpen: number;
  job: NewJob;
  /** First events of a stream; absent if it is not streamed. */
  events?: EventBatch;
}

/** Stores a response that waits, with its job; false, with nothing changed, if the owner has too many unfinished ones. */
export const acceptBackgroundResponse = writing<AcceptedBackground, boolean>('state', async (transaction, accepted) => {
  const { limits, mostOpen, job, events, ...added } = accepted;
  const { owner, row, expiresAt } = added.response;
  const before = await lockTotal(transaction, owner);
  const [open] = await transaction.all(
    `SELECT count(*) AS n FROM stored_response WHERE owner = :owner AND background = 1 AND ${OPEN}`,
    { owner },
  );
  if (Number(open?.n) >= mostOpen) {
    await setTotal(transaction, owner, before);
    return false;
  }
  const bytes = before.bytes + (await addStored(transaction, added));
  const total = { responses: before.responses + 1, bytes };
  await setTotal(transaction, owner, await makeRoom(transaction, owner, { total, limits, but: row }));
  await addJob(transaction, job);
  if (events) {
    const stream = { row_id: row, next: 0, bytes: 0, expires_at: expiresAt };
    await transaction.insert('stored_stream', [stream]);
    await addEvents(transaction, row, events);
  }
  return true;
});

export interface BackgroundSize {
  /** Size of its content. */
  bytes: number;
  status: string;
  /** Unix milliseconds. */
  createdAt: number;
}

/** Size and state of an unfinished response; undefined if it is finished or deleted. */
export const sizeOfBackgroundResponse = reading<{ row: string }, BackgroundSize | undefined>(
  'state',
  async (transaction, { row }) => {
    const [found] = await transaction.all(
      `SELECT whole_bytes, status, created_at FROM stored_response WHERE row_id = :row AND ${OPEN}`,
      { row },
    );
    if (!found) return undefined;
    const { whole_bytes: bytes, status, created_at: createdAt } = found;
    return { bytes: Number(bytes), status: String(status), createdAt: Number(createdAt) };
  },
);

export interface ReadBackground extends ReadStoredResponse {
  /** Number of the next event of its stream; absent if it is not streamed. */
  nextEvent?: number;
}

/** An unfinished response by its row; undefined if it is finished or deleted. */
export const readBackgroundResponse = reading<{ row: string }, ReadBackground | undefined>(
  'state',
  async (transaction, { row }) => {
    const [found] = await transaction.all(
      `SELECT ${STORED_COLUMNS} FROM stored_response WHERE row_id = :row AND ${OPEN}`,
      { row },
    );
    if (!found) return undefined;
    const response = storedResponseOf(found);
    const [stream] = await transaction.all('SELECT next FROM stored_stream WHERE row_id = :row', { row });
    return {
      response,
      parts: await partsOf(transaction, response.owner, [row]),
      ...(stream && { nextEvent: Number(stream.next) }),
    };
  },
);

/**
 * Marks a queued response as started. False if it is not queued, or the lease is lost: then it must not be sent. `again`: an
 * earlier call under this lease may have started it.
 */
export const startBackgroundResponse = writing<{ row: string; job: Lease; again?: boolean }, boolean>(
  'state',
  async (transaction, { row, job, again = false }) => {
    const waits = `row_id = :row AND ${again ? OPEN : "status = 'queued'"}`;
    const locked = await transaction.all(`SELECT row_id FROM stored_response WHERE ${waits} ${transaction.forUpdate}`, {
      row,
    });
    if (locked.length === 0 || !(await lockLeasedJob(transaction, job))) return false;
    return (await transaction.run(`UPDATE stored_response SET status = 'in_progress' WHERE ${waits}`, { row })) > 0;
  },
);

/** Ends the job of a response that is finished or deleted. */
export const endBackgroundJob = writing<Lease, boolean>('state', finishJob);

/** Returns those of the given rows whose response is finished or deleted. */
export const closedBackgroundResponses = reading<{ rows: readonly string[] }, string[]>(
  'state',
  async (transaction, { rows }) => {
    const closed = new Set(rows);
    for (const { list, values } of listsOf(rows)) {
      const open = await transaction.all(
        `SELECT row_id FROM stored_response WHERE row_id IN (${list}) AND ${OPEN}`,
        values,
      );
      for (const { row_id } of open) closed.delete(String(row_id));
    }
    return [...closed];
  },
);

export type CancelOutcome = 'cancelled' | 'foreground' | 'finished';

/**
 * Cancels an unfinished background response and removes its job, whose holder loses its lease by it. Of a cancelled one, it
 * changes nothing.
 */
export const cancelBackgroundResponse = writing<
  { owner: string; id: string; now: number; expiresAt: number; jobKind: string },
  CancelOutcome | undefined
>('state', async (transaction, { owner, id, now, expiresAt, jobKind }) => {
  const before = await lockTotal(transaction, owner);
  await setTotal(transaction, owner, before);
  const [found] = await transaction.all(
    `SELECT ${HEAD_COLUMNS} FROM stored_response WHERE owner = :owner AND expires_at > :now AND row_id = (
       SELECT row_id FROM stored_name WHERE owner = :owner AND kind = 'response' AND name = :id)`,
    { owner, id, now },
  );
  if (!found) return undefined;
  const response = storedResponseOf(found);
  const { row, status } = response;
  if (!response.background) return 'foreground';
  if (status !== 'cancelled' && !isOpen(response)) return 'finished';
  if (status === 'cancelled') return 'cancelled';
  await transaction.run(`UPDATE stored_response SET status = 'cancelled', expires_at = :expires WHERE row_id = :row`, {
    row,
    expires: expiresAt,
  });
  await expireStream(transaction, row, expiresAt);
  await removeJob(transaction, jobKind, row);
  return 'cancelled';
});

/** Has a cancelled response expire later than the cancellation said. */
export const extendCancelledResponse = writing<{ row: string; expiresAt: number }, void>(
  'state',
  async (transaction, { row, expiresAt: expires }) => {
    const sql = `UPDATE stored_response SET expires_at = :expires
      WHERE row_id = :row AND status = 'cancelled' AND expires_at < :expires`;
    await transaction.run(sql, { row, expires });
  },
);

function isOpen({ status }: StoredResponse): boolean {
  return status === 'queued' || status === 'in_progress';
}
