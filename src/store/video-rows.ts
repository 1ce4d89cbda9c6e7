/** Mapping between video table rows and tasks, attempts and ledger entries. */

import type { TaskErrorCode } from '../core/video.ts';
import type { LedgerEntry, VideoAttempt, VideoStatus, VideoTask } from '../records/video-task.ts';
import { addJob, type NewJob } from './job-rows.ts';
import type { Row, Transaction, Value } from './operation.ts';

/** Columns of a task without its request, whose media can be large. */
export const TASK_COLUMNS = `id, owner, model, prompt, details, status, phase, version, progress, cancel_requested, assets,
  memory, seconds, CAST(cost AS text) AS cost, error, error_code, callback_url, created_at, updated_at, deadline_at,
  settled_at, media_expires_at`;

export function taskOf(row: Row): VideoTask {
  return {
    id: text(row.id),
    owner: text(row.owner),
    model: text(row.model),
    prompt: optionalText(row.prompt),
    details: json(row.details),
    status: text(row.status) as VideoStatus,
    phase: text(row.phase) as VideoTask['phase'],
    version: Number(row.version),
    progress: optionalNumber(row.progress),
    cancelRequested: Number(row.cancel_requested) === 1,
    assets: json(row.assets),
    memory: json(row.memory),
    seconds: optionalNumber(row.seconds),
    cost: row.cost == null ? undefined : BigInt(text(row.cost)),
    error: row.error_code == null ? undefined : { code: row.error_code as TaskErrorCode, message: text(row.error) },
    callbackUrl: optionalText(row.callback_url),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    deadlineAt: Number(row.deadline_at),
    settledAt: optionalNumber(row.settled_at),
    mediaExpiresAt: optionalNumber(row.media_expires_at),
  };
}

/** Columns that can change after creation, without the version. */
export function changingColumns(task: VideoTask): Row {
  return {
    status: task.status,
    phase: task.phase,
    progress: task.progress ?? null,
    cancel_requested: task.cancelRequested ? 1 : 0,
    assets: JSON.stringify(task.assets),
    memory: JSON.stringify(task.memory),
    seconds: task.seconds ?? null,
    cost: task.cost ?? null,
    error: task.error?.message ?? null,
    error_code: task.error?.code ?? null,
    updated_at: task.updatedAt,
    settled_at: task.settledAt ?? null,
    media_expires_at: task.mediaExpiresAt ?? null,
  };
}

export function taskRow(task: VideoTask, request: string): Row {
  return {
    id: task.id,
    owner: task.owner,
    model: task.model,
    prompt: task.prompt ?? null,
    request,
    details: JSON.stringify(task.details),
    version: task.version,
    callback_url: task.callbackUrl ?? null,
    created_at: task.createdAt,
    deadline_at: task.deadlineAt,
    ...changingColumns(task),
  };
}

export function attemptOf(row: Row): VideoAttempt {
  return {
    id: text(row.id),
    taskId: text(row.task_id),
    provider: text(row.provider),
    credential: text(row.credential),
    state: text(row.state) as VideoAttempt['state'],
    createdAt: Number(row.created_at),
    sentAt: optionalNumber(row.sent_at),
    acceptedAt: optionalNumber(row.accepted_at),
    ref: row.upstream_ref == null ? undefined : json(row.upstream_ref),
  };
}

export function attemptRow(attempt: VideoAttempt): Row {
  return {
    id: attempt.id,
    task_id: attempt.taskId,
    provider: attempt.provider,
    credential: attempt.credential,
    state: attempt.state,
    created_at: attempt.createdAt,
    sent_at: attempt.sentAt ?? null,
    accepted_at: attempt.acceptedAt ?? null,
    upstream_ref: attempt.ref === undefined ? null : JSON.stringify(attempt.ref),
  };
}

export async function saveAttempt(transaction: Transaction, attempt: VideoAttempt): Promise<void> {
  const sql = `UPDATE video_attempt SET credential = :credential, state = :state, sent_at = :sent_at,
    accepted_at = :accepted_at, upstream_ref = :upstream_ref WHERE id = :id`;
  await transaction.run(sql, attemptRow(attempt));
}

/** A task has one ledger entry; a later amount replaces an earlier one. Schedules the job that updates the usage record. */
export async function saveLedgerEntry(transaction: Transaction, entry: LedgerEntry): Promise<void> {
  const sql = `INSERT INTO video_ledger (task_id, owner, model, provider, seconds, cost, source, created_at)
    VALUES (:taskId, :owner, :model, :provider, :seconds, :cost, :source, :createdAt)
    ON CONFLICT (task_id) DO UPDATE SET seconds = excluded.seconds, cost = excluded.cost, source = excluded.source,
      revision = video_ledger.revision + 1`;
  await transaction.run(sql, { ...entry });
  await addJob(transaction, useJob(entry.taskId, entry.owner, entry.createdAt));
}

/** Job that copies a ledger entry to the usage records, which may be in another database. */
export function useJob(taskId: string, owner: string, now: number): NewJob {
  return { kind: 'video-use', ref: taskId, lane: '', owner, dueAt: now };
}

function text(value: Value | undefined): string {
  return String(value ?? '');
}

function optionalText(value: Value | undefined): string | undefined {
  return value == null ? undefined : String(value);
}

function optionalNumber(value: Value | undefined): number | undefined {
  return value == null ? undefined : Number(value);
}

function json<Result>(value: Value | undefined): Result {
  return JSON.parse(text(value)) as Result;
}
