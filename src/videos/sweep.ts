/** Retention sweep: deletes expired media, task records, idempotency keys, lanes of receivers without open deliveries, and stale reservations. */

import { type Ages, createAges } from '../core/clock.ts';
import type { JobHandler } from '../jobs/job.ts';
import type { VideoTask } from '../records/video-task.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import type { VideoContext } from './context.ts';
import { IDEMPOTENCY_KEY_TTL_MS } from './create.ts';

/** Interval between two sweeps. */
const SWEEP_INTERVAL_MS = 10 * 60_000;
const MAX_RUN_MS = 60_000;
/** Time within which the task of a reservation is created. */
const CREATION_GRACE_MS = 10 * 60_000;
/** Rows per transaction. */
const BATCH_SIZE = 100;

export const SWEEP_JOB = { kind: 'video-sweep', ref: 'all', lane: '', owner: '' };

export function createSweepHandler(context: VideoContext): JobHandler {
  const { store, clock, expiry, settings } = context;
  /** Ages of reservations without a task. */
  const ages = createAges(clock);
  return {
    kind: SWEEP_JOB.kind,
    limits: { total: 1, lane: 1 },
    maxRunMs: MAX_RUN_MS,
    async run(job, signal) {
      const now = expiry.now();
      await sweepMedia(context, now, signal);
      const settledBefore = now - settings.keepRecordsMs;
      await inBatches(signal, () => store.call('pruneVideos', { settledBefore, limit: BATCH_SIZE }));
      const before = now - Math.max(IDEMPOTENCY_KEY_TTL_MS, settings.dedupeWindowMs ?? 0);
      await inBatches(signal, () => store.call('pruneIdempotency', { before, limit: BATCH_SIZE }));
      await inBatches(signal, () => store.call('pruneLanes', { limit: BATCH_SIZE }));
      // By the clock itself: what nobody uses is not held for as long as that of expiry lags.
      await releaseStaleReservations(context, ages, signal);
      const lease = { id: job.id, lease: job.lease };
      await store.call('rescheduleVideoJob', { lease, dueAt: clock.now() + SWEEP_INTERVAL_MS, attempts: 0 });
    },
  };
}

async function sweepMedia(context: VideoContext, now: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const tasks = await context.store.call('expiredVideoMedia', { now, limit: BATCH_SIZE });
    let failures = 0;
    for (const task of tasks) {
      await eraseMedia(context, task).catch((error) => {
        if (error instanceof StoreUnavailable) throw error;
        failures += 1;
        context.log.warn({ err: error, task: task.id }, 'media not erased yet');
      });
    }
    // Failed ones would be returned again at once.
    if (tasks.length < BATCH_SIZE || failures > 0) return;
  }
}

/** Releases reservations of tasks that were never created, or whose cost is recorded. */
async function releaseStaleReservations(
  { store, clock }: VideoContext,
  ages: Ages,
  signal: AbortSignal,
): Promise<void> {
  const now = clock.now();
  // One made far ahead is by a clock that was set back since, perhaps just now, and its task may be created yet.
  const times = { before: now - CREATION_GRACE_MS, latest: now + CREATION_GRACE_MS };
  for (let after = ''; ; ) {
    signal.throwIfAborted();
    const tasks = await store.call('tasksWithHold', { ...times, after, limit: BATCH_SIZE });
    for (const { id, heldAt } of tasks) {
      if ((await store.call('mayCostMore', { id })) || ages.of(id, heldAt) < CREATION_GRACE_MS) continue;
      await store.call('releaseTask', { id });
      ages.forget(id);
    }
    const last = tasks.at(-1)?.id;
    if (last === undefined || tasks.length < BATCH_SIZE) return;
    after = last;
  }
}

/** Deletes the files first, so that the store never loses track of a remaining one. */
export async function eraseMedia({ store, mirror }: VideoContext, { id, owner, assets }: VideoTask): Promise<void> {
  const kept = assets.flatMap((asset) => asset.kept ?? []);
  await mirror?.erase({ id, owner }, kept);
  const left = assets.map(({ kept: gone, ...asset }) => (gone ? { ...asset, expired: true } : asset));
  await store.call('eraseVideoMedia', { id, assets: JSON.stringify(left) });
}

async function inBatches(signal: AbortSignal, prune: () => Promise<number>): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    if ((await prune()) < BATCH_SIZE) return;
  }
}
