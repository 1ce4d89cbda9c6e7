/** Task creation: task, attempt, request and job are stored in one transaction before the caller gets its response. */

import { randomUUID } from 'node:crypto';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { sleep } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { VideoAttempt, VideoTask } from '../records/video-task.ts';
import { laneOf, type VideoContext } from './context.ts';
import { type Creation, detailsOf, requestDigest } from './creation.ts';
import { maxExpectedCost } from './task-cost.ts';

/** Time for which an `Idempotency-Key` identifies its task. */
export const IDEMPOTENCY_KEY_TTL_MS = 24 * 3_600_000;
/** Time within which an identical request marked as a retry returns the same task. */
const RETRY_WINDOW_MS = 60_000;
/** Pauses between looks for the task of a request that is being created beside this one. */
const LOOK_PAUSES_MS = [100, 400];

export interface NewTask {
  /** Id of the caller's API key. */
  owner: string;
  /** Tags of that key, as on usage records. */
  tags?: string;
  creation: Creation;
  /** The caller's `Idempotency-Key`. */
  idempotencyKey?: string;
  /** The client marks the request as a retry: an identical recent request counts as the same. */
  retried?: boolean;
  /** Reserves the maximum expected cost, in 1e-12 USD, before the task is created. Without it, budgets do not apply. */
  reserve?(task: VideoTask & { cost: bigint | undefined }): Promise<BudgetReservation>;
}

/** Reservation of a key's budgets for a task, until its cost is recorded. */
export interface BudgetReservation {
  /** `x-ratelimit-*`. */
  headers: Record<string, string>;
  /** Releases the reservation of a task that was not created. */
  release(): Promise<void>;
}

export interface CreatedTask {
  task: VideoTask;
  replayed: boolean;
  headers: Record<string, string>;
}

/**
 * Makes no upstream call. Throws `model_not_found`, `idempotency_key_reused`, the errors of the reservation, and
 * `unavailable` if the store cannot write; in each case no task was created.
 */
export async function createTask(
  context: VideoContext,
  { owner, tags, creation, idempotencyKey, retried = false, reserve = reserveNothing }: NewTask,
): Promise<CreatedTask> {
  const now = context.clock.now();
  const task = newTask({ owner, tags, creation }, now, context.settings.expiresAfterMs);
  const attempt = newAttempt(context, task, creation, now);
  // With an image of 20 MB each of these steps takes tens of milliseconds.
  await yieldToEventLoop();
  const digest = await requestDigest(creation);
  await yieldToEventLoop();
  const request = JSON.stringify(creation.request);
  await yieldToEventLoop();
  const idempotency =
    idempotencyKey === undefined
      ? { key: `request:${digest}`, digest, window: dedupeWindow(context, retried) }
      : { key: `key:${idempotencyKey}`, digest, window: IDEMPOTENCY_KEY_TTL_MS, once: true };
  const cost = maxExpectedCost(task.details);
  let reservation: BudgetReservation;
  try {
    reservation = await reserve({ ...task, cost });
  } catch (error) {
    const isOverBudget = error instanceof GatewayError && error.code === 'insufficient_quota';
    const earlier = await earlierTask(context, { owner, now, ...idempotency }, isOverBudget);
    if (earlier) return { task: earlier, replayed: true, headers: {} };
    throw error;
  }
  const { headers } = reservation;
  // If this throws, it is unknown whether the task was stored. The sweep releases the reservation if it was not.
  const created = await context.store.call('createVideo', {
    task,
    attempt,
    request,
    job: { kind: 'video', ref: task.id, lane: laneOf(attempt), owner, dueAt: now },
    idempotency,
  });
  if (created.type !== 'created') await reservation.release();
  if (created.type === 'reused') {
    throw new GatewayError(
      'idempotency_key_reused',
      'This Idempotency-Key was used within 24 hours, for another request or for a video that is deleted; use a new one for each request.',
    );
  }
  if (created.type === 'created') {
    context.wake('video');
    context.events?.videoStatusChanged('queued');
  }
  return { task: created.task, replayed: created.type === 'replayed', headers };
}

/**
 * A repeated request returns its existing task even if the budget is used up. Over budget, that may be because the first one
 * has its reservation and not its task yet, perhaps in another process: `isOverBudget` looks again.
 */
async function earlierTask(
  { store, clock }: VideoContext,
  request: { owner: string; now: number; key: string; digest: string; window: number; once?: boolean | undefined },
  isOverBudget: boolean,
): Promise<VideoTask | undefined> {
  let earlier = await store.call('repeatedVideo', request);
  if (!isOverBudget || request.window <= 0) return earlier;
  for (const pause of LOOK_PAUSES_MS) {
    if (earlier) break;
    await sleep(clock, pause);
    earlier = await store.call('repeatedVideo', request);
  }
  return earlier;
}

async function reserveNothing(): Promise<BudgetReservation> {
  return { headers: {}, release: async () => {} };
}

function dedupeWindow({ settings }: VideoContext, retried: boolean): number {
  return Math.max(settings.dedupeWindowMs ?? 0, retried ? RETRY_WINDOW_MS : 0);
}

function newTask({ owner, tags, creation }: NewTask, now: number, expires: number): VideoTask {
  const { model, request, callbackUrl, expiresAfter } = creation;
  return {
    id: randomUUID(),
    owner,
    model: model.id,
    prompt: request.prompt,
    details: { ...detailsOf(creation), ...(tags && { tags }) },
    status: 'queued',
    phase: 'submitting',
    version: 1,
    cancelRequested: false,
    assets: [],
    memory: {},
    callbackUrl,
    createdAt: now,
    updatedAt: now,
    deadlineAt: now + (expiresAfter === undefined ? expires : expiresAfter * 1000),
  };
}

function newAttempt(context: VideoContext, task: VideoTask, { model }: Creation, now: number): VideoAttempt {
  const active = context.providers().get(model.provider);
  if (!active?.provider.video) {
    throw new GatewayError('model_not_found', `The provider "${model.provider}" makes no videos at the moment.`, {
      param: 'model',
    });
  }
  const credential = active.credentials.pick(task.id).id;
  return { id: randomUUID(), taskId: task.id, provider: model.provider, credential, state: 'intent', createdAt: now };
}
