/** A new task: everything that must not be lost is in one transaction before the caller hears of it. */

import { randomUUID } from 'node:crypto';
import { setImmediate as breathe } from 'node:timers/promises';
import { GatewayError } from '../core/errors.ts';
import { laneOf, type VideoContext } from './context.ts';
import { type Creation, detailsOf, requestDigest } from './creation.ts';
import type { VideoAttempt, VideoTask } from './task.ts';
import { maxExpectedCost } from './task-cost.ts';

/** Milliseconds for which a client's key stands for its task. */
export const IDEMPOTENCY_KEY_TTL_MS = 24 * 3_600_000;
/** And an equal request, if the client says that it tries again. */
const RETRY_WINDOW_MS = 60_000;

export interface NewTask {
  /** The id of the caller's key. */
  owner: string;
  creation: Creation;
  /** The caller's `Idempotency-Key`. */
  idempotencyKey?: string;
  /** It says that it sends this again: an equal request a short while ago is taken for the same. */
  retried?: boolean;
  /** Asks for what it may cost, in 1e-12 USD, before there is a task; without it nothing is limited. */
  reserve?(task: VideoTask & { cost: bigint | undefined }): Promise<BudgetReservation>;
}

/** What is held of a key's budgets for a task, until its cost is recorded. */
export interface BudgetReservation {
  /** `x-ratelimit-*`. */
  headers: Record<string, string>;
  /** There is no such task. */
  release(): Promise<void>;
}

export interface CreatedTask {
  task: VideoTask;
  replayed: boolean;
  headers: Record<string, string>;
}

/**
 * Asks no upstream. Throws `model_not_found`, `idempotency_key_reused`, what the reservation throws, and `unavailable` when
 * the store cannot write; then there is no task.
 */
export async function createTask(
  context: VideoContext,
  { owner, creation, idempotencyKey, retried = false, reserve = reserveNothing }: NewTask,
): Promise<CreatedTask> {
  const now = context.clock.now();
  const task = newTask(owner, creation, now, context.settings.expiresAfterMs);
  const attempt = newAttempt(context, task, creation, now);
  // An image of 20 MB takes each of these steps some ten milliseconds.
  await breathe();
  const digest = await requestDigest(creation);
  await breathe();
  const request = JSON.stringify(creation.request);
  await breathe();
  const idempotency =
    idempotencyKey === undefined
      ? { key: `request:${digest}`, digest, window: dedupeWindow(context, retried) }
      : { key: `key:${idempotencyKey}`, digest, window: IDEMPOTENCY_KEY_TTL_MS };
  const cost = maxExpectedCost(task.details, Math.max(1, ...(creation.model.video?.durations ?? [])));
  let reservation: BudgetReservation;
  try {
    reservation = await reserve({ ...task, cost });
  } catch (error) {
    // What is made and paid already is not refused.
    const earlier = await context.store.call('repeatedVideo', { owner, now, ...idempotency });
    if (earlier) return { task: earlier, replayed: true, headers: {} };
    throw error;
  }
  const { headers } = reservation;
  // What stays reserved when this throws is found by the sweep: nobody knows whether there is a task.
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
      'This Idempotency-Key was used for another request within 24 hours; use a new one for each request.',
    );
  }
  if (created.type === 'created') {
    context.wake('video');
    context.events?.videoStatusChanged('queued');
  }
  return { task: created.task, replayed: created.type === 'replayed', headers };
}

async function reserveNothing(): Promise<BudgetReservation> {
  return { headers: {}, release: async () => {} };
}

function dedupeWindow({ settings }: VideoContext, retried: boolean): number {
  return Math.max(settings.dedupeWindowMs ?? 0, retried ? RETRY_WINDOW_MS : 0);
}

function newTask(owner: string, creation: Creation, now: number, expires: number): VideoTask {
  const { model, request, callbackUrl, expiresAfter } = creation;
  return {
    id: randomUUID(),
    owner,
    model: model.id,
    prompt: request.prompt,
    details: detailsOf(creation),
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
