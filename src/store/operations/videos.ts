/** Video tasks, their submissions and their ledger. */

import type { Json } from '../../core/json/json.ts';
import type { VideoRef } from '../../core/video.ts';
import type { LedgerEntry, VideoAttempt, VideoStatus, VideoTask } from '../../records/video-task.ts';
import { addDelivery, eraseDeliveryBody, type NewDelivery } from '../delivery-rows.ts';
import { addJob, finishJob, type Lease, makeJobDue, type NewJob, removeJob, rescheduleJob } from '../job-rows.ts';
import { addCreatedBetween, type CreatedBetween } from '../list-search.ts';
import { type Row, reading, scanning, type Transaction, writing } from '../operation.ts';
import {
  attemptOf,
  attemptRow,
  changingColumns,
  saveAttempt,
  saveLedgerEntry,
  TASK_COLUMNS,
  taskOf,
  taskRow,
  useJob,
} from '../video-rows.ts';

const IS_OPEN = "status IN ('queued', 'in_progress')";

export interface VideoCreation {
  task: VideoTask;
  /** JSON of the checked request. */
  request: string;
  attempt: VideoAttempt;
  job: NewJob;
  /**
   * A task of the same owner and key younger than `window` milliseconds is replayed; 0 disables that. A key that is used `once`
   * makes no other task within that time, also when its task is deleted.
   */
  idempotency: { key: string; digest: string; window: number; once?: boolean };
}

export type VideoCreated = { type: 'created' | 'replayed'; task: VideoTask } | { type: 'reused' };

const MAX_AHEAD_MS = 24 * 3_600_000;

/** Locks the idempotency row first, so that concurrent equal requests create one task. */
export const createVideo = writing<VideoCreation, VideoCreated>('state', async (transaction, creation) => {
  const { task, idempotency } = creation;
  const { key, digest } = idempotency;
  const row = { owner: task.owner, key, digest, task_id: task.id, created_at: task.createdAt };
  await transaction.insert('idempotency', [row], { ignoreDuplicates: true });
  const [held] = await transaction.all(
    `SELECT digest, task_id, created_at FROM idempotency WHERE owner = :owner AND key = :key ${transaction.forUpdate}`,
    row,
  );
  const age = task.createdAt - Number(held?.created_at);
  // Of a task so far ahead, the age is not known: the clock was set back since. A key means the same request nevertheless.
  const isRecent = age < idempotency.window && (idempotency.once || age > -MAX_AHEAD_MS);
  if (held && held.task_id !== task.id && idempotency.window > 0 && isRecent) {
    const earlier = await readTask(transaction, String(held.task_id));
    if (earlier && held.digest === digest) return { type: 'replayed', task: earlier };
    if (earlier || idempotency.once) return { type: 'reused' };
  }
  await transaction.run(
    `UPDATE idempotency SET digest = :digest, task_id = :task_id, created_at = :created_at
     WHERE owner = :owner AND key = :key`,
    row,
  );
  await transaction.insert('video_task', [taskRow(task, creation.request)]);
  await transaction.insert('video_attempt', [attemptRow(creation.attempt)]);
  await addJob(transaction, creation.job);
  return { type: 'created', task };
});

/** Task of a repeated request. */
export const repeatedVideo = reading<
  { owner: string; key: string; digest: string; window: number; once?: boolean | undefined; now: number },
  VideoTask | undefined
>('state', async (transaction, { owner, key, digest, window, once, now }) => {
  const sql = `SELECT task_id FROM idempotency
    WHERE owner = :owner AND key = :key AND digest = :digest AND created_at > :since AND created_at < :latest`;
  if (window <= 0) return undefined;
  const times = { since: now - window, latest: once ? Number.MAX_SAFE_INTEGER : now + MAX_AHEAD_MS };
  const [row] = await transaction.all(sql, { owner, key, digest, ...times });
  return row && readTask(transaction, String(row.task_id));
});

/** Reads a task; without `owner`, a task of any owner. */
export const readVideo = reading<{ id: string; owner?: string }, VideoTask | undefined>(
  'state',
  (transaction, { id, owner }) => readTask(transaction, id, owner),
);

async function readTask(transaction: Transaction, id: string, owner?: string): Promise<VideoTask | undefined> {
  const sql = `SELECT ${TASK_COLUMNS} FROM video_task WHERE id = :id AND deleted_at IS NULL`;
  const [row] = await transaction.all(sql, { id });
  return row && (owner === undefined || row.owner === owner) ? taskOf(row) : undefined;
}

export interface LoadedVideo {
  task: VideoTask;
  attempt: VideoAttempt;
}

/** For the task machine; includes deleted tasks. */
export const loadVideo = reading<{ id: string }, LoadedVideo | undefined>('state', async (transaction, values) => {
  const [task] = await transaction.all(`SELECT ${TASK_COLUMNS} FROM video_task WHERE id = :id`, values);
  const [attempt] = await transaction.all('SELECT * FROM video_attempt WHERE task_id = :id', values);
  return task && attempt && { task: taskOf(task), attempt: attemptOf(attempt) };
});

/** The validated request; undefined after its erasure. */
export const readVideoRequest = reading<{ id: string }, Json>('state', async (transaction, values) => {
  const sql = "SELECT request FROM video_task WHERE id = :id AND request <> '{}'";
  const [row] = await transaction.all(sql, values);
  return row && JSON.parse(String(row.request));
});

export interface VideoPage extends CreatedBetween {
  /** Absent means all owners. */
  owner?: string;
  limit: number;
  order: 'asc' | 'desc';
  after?: string;
  status?: VideoStatus;
  model?: string;
}

/** Up to `limit` tasks; undefined if the task `after` does not exist. It may be deleted, as by a caller that reads and deletes. */
export const listVideos = scanning<VideoPage, VideoTask[] | undefined>('state', async (transaction, page) => {
  const { owner, limit, order, after, status, model } = page;
  const values: Row = { limit };
  const owned = owner === undefined ? [] : ['owner = :owner'];
  const conditions = ['deleted_at IS NULL', ...owned];
  if (owner !== undefined) values.owner = owner;
  if (status !== undefined) {
    conditions.push('status = :status');
    values.status = status;
  }
  if (model !== undefined) {
    conditions.push('model = :model');
    values.model = model;
  }
  addCreatedBetween(conditions, values, page);
  if (after !== undefined) {
    const sql = `SELECT created_at FROM video_task WHERE ${['id = :after', ...owned].join(' AND ')}`;
    const [last] = await transaction.all(sql, { after, ...(owner !== undefined && { owner }) });
    if (!last) return undefined;
    conditions.push(`(created_at, id) ${order === 'asc' ? '>' : '<'} (:createdAt, :after)`);
    values.createdAt = last.created_at ?? null;
    values.after = after;
  }
  const rows = await transaction.all(
    `SELECT ${TASK_COLUMNS} FROM video_task WHERE ${conditions.join(' AND ')}
     ORDER BY created_at ${order}, id ${order} LIMIT :limit`,
    values,
  );
  return rows.map(taskOf);
});

export interface VideoChange {
  /** New state, with the version that was read. */
  task: VideoTask;
  attempt?: VideoAttempt;
  /** For an open task: the lease holder reschedules the job, or another caller makes it due. */
  job?: { lease: Lease; dueAt: number; lane: string } | { hasten: number; lane: string };
  /** For a terminal status: rows written in the same transaction. */
  settlement?: { ledger: LedgerEntry; delivery?: NewDelivery; reconciliation?: NewJob };
}

/** Optimistic locking: false, with nothing written, if the task changed since it was read or is terminal. */
export const saveVideo = writing<VideoChange, boolean>('state', async (transaction, change) => {
  const { task, attempt, job, settlement } = change;
  const columns = changingColumns(task);
  const assignments = Object.keys(columns).map((column) => `${column} = :${column}`);
  const changed = await transaction.run(
    `UPDATE video_task SET ${assignments.join(', ')}, version = version + 1
     WHERE id = :id AND version = :version AND ${IS_OPEN}`,
    { ...columns, id: task.id, version: task.version },
  );
  if (changed === 0) return false;
  if (attempt) await saveAttempt(transaction, attempt);
  if (attempt?.state === 'accepted' || (settlement && !settlement.reconciliation))
    await eraseRequest(transaction, task.id);
  if (settlement) {
    await removeJob(transaction, 'video', task.id);
    await saveLedgerEntry(transaction, settlement.ledger);
    if (settlement.delivery) await addDelivery(transaction, settlement.delivery);
    if (settlement.reconciliation) await addJob(transaction, settlement.reconciliation);
  } else if (job && 'hasten' in job) {
    await makeJobDue(transaction, { kind: 'video', ref: task.id, lane: job.lane }, job.hasten);
  } else if (job) {
    const sql = 'UPDATE job SET lane = :lane WHERE id = :id AND lease = :lease';
    await transaction.run(sql, { ...job.lease, lane: job.lane });
    await rescheduleJob(transaction, job.lease, job.dueAt);
  }
  return true;
});

/** Upstream ids of other attempts with the same credential, accepted since a timestamp. */
export const heldVideoRefs = scanning<{ attempt: VideoAttempt; since: number }, VideoRef[]>(
  'state',
  async (transaction, { attempt, since }) => {
    const rows = await transaction.all(
      `SELECT upstream_ref FROM video_attempt WHERE provider = :provider AND credential = :credential
       AND id <> :id AND accepted_at >= :since AND upstream_ref IS NOT NULL`,
      { ...attemptRow(attempt), since },
    );
    return rows.map(({ upstream_ref: ref }) => JSON.parse(String(ref)));
  },
);

/**
 * Assigns an upstream id to an unresolved attempt. False if another attempt has the id, or if an equal request has been in
 * flight since `sentAfter`, to which the id may belong. Serialized per credential.
 */
export const claimVideoRef = writing<{ attempt: VideoAttempt; sentAfter: number }, boolean>(
  'state',
  async (transaction, { attempt, sentAfter }) => {
    const values = { ...attemptRow(attempt), sent_after: sentAfter };
    const unresolved = "state IN ('sending', 'ambiguous')";
    await transaction.all(
      `SELECT id FROM video_attempt WHERE provider = :provider AND credential = :credential AND ${unresolved}
       ORDER BY id ${transaction.forUpdate}`,
      values,
    );
    const rivals = await transaction.all(
      `SELECT other.id FROM video_attempt AS other JOIN video_task AS theirs ON theirs.id = other.task_id
       JOIN video_task AS ours ON ours.id = :task_id
       WHERE other.provider = :provider AND other.credential = :credential AND other.id <> :id
         AND (other.upstream_ref = :upstream_ref OR (other.state = 'sending' AND other.sent_at > :sent_after
           AND theirs.model = ours.model AND coalesce(theirs.prompt, '') = coalesce(ours.prompt, '')))`,
      values,
    );
    if (rivals.length > 0) return false;
    const sql = `UPDATE video_attempt SET upstream_ref = :upstream_ref WHERE id = :id AND ${unresolved}`;
    return (await transaction.run(sql, values)) > 0;
  },
);

/** Records an acceptance after the settlement of the task and schedules the reconciliation of its cost. */
export const scheduleCostReconciliation = writing<{ attempt: VideoAttempt; job: NewJob }, void>(
  'state',
  async (transaction, { attempt, job }) => {
    await saveAttempt(transaction, attempt);
    await eraseRequest(transaction, attempt.taskId);
    await addJob(transaction, job);
  },
);

/** Erases the request, whose media can be large, once no submission needs it. */
async function eraseRequest(transaction: Transaction, id: string): Promise<void> {
  await transaction.run("UPDATE video_task SET request = '{}' WHERE id = :id", { id });
}

/** Finishes the cost reconciliation of a settled task, with the final amount if known. */
export const reconcileVideoCost = writing<
  { lease: Lease; task: VideoTask; attempt?: VideoAttempt; entry?: LedgerEntry; now: number },
  void
>('state', async (transaction, { lease, task, attempt, entry, now }) => {
  if (!(await finishJob(transaction, lease))) return;
  if (attempt) await saveAttempt(transaction, attempt);
  await eraseRequest(transaction, task.id);
  if (entry) return saveLedgerEntry(transaction, entry);
  await transaction.run('UPDATE video_ledger SET revision = revision + 1 WHERE task_id = :id', { id: task.id });
  await addJob(transaction, useJob(task.id, task.owner, now));
});

export const finishVideoJob = writing<{ lease: Lease }, void>('state', async (transaction, { lease }) => {
  await finishJob(transaction, lease);
});

export const rescheduleVideoJob = writing<{ lease: Lease; dueAt: number; attempts: number }, void>(
  'state',
  async (transaction, { lease, dueAt, attempts }) => {
    await rescheduleJob(transaction, lease, dueAt, attempts);
  },
);

/** Deletes a terminal task: hides it, erases its content but `details`, and makes its media due for erasure. False if not terminal. */
export const deleteVideo = writing<{ id: string; owner: string; details: string; now: number }, boolean>(
  'state',
  async (transaction, values) => {
    const sql = `UPDATE video_task SET deleted_at = :now, media_expires_at = :now, prompt = NULL, request = '{}',
      details = :details, version = version + 1
      WHERE id = :id AND owner = :owner AND deleted_at IS NULL AND NOT (${IS_OPEN})`;
    if ((await transaction.run(sql, values)) === 0) return false;
    await eraseDeliveryBody(transaction, values.id);
    return true;
  },
);

/** Creates a job unless it exists. */
export const ensureJob = writing<NewJob, void>('state', addJob);
