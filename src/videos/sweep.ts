/** Clears away what is no longer kept: media, records and the keys of repeated requests. */

import type { Handler } from '../jobs/job.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import type { VideoContext } from './context.ts';
import { KEY_WINDOW } from './create.ts';
import type { VideoTask } from './task.ts';

/** Milliseconds between two sweeps. */
const INTERVAL = 10 * 60_000;
const PATIENCE = 60_000;
/** Milliseconds in which a task comes into being for which something is reserved. */
const UNSURE = 10 * 60_000;
/** Rows that one transaction touches. */
const CHUNK = 100;

export const SWEEP_JOB = { kind: 'video-sweep', ref: 'all', lane: '', owner: '' };

export function createSweepHandler(context: VideoContext): Handler {
  const { store, clock, settings } = context;
  return {
    kind: SWEEP_JOB.kind,
    limits: { total: 1, lane: 1 },
    patience: PATIENCE,
    async run(job, signal) {
      const now = clock.now();
      await sweepMedia(context, now, signal);
      const settledBefore = now - settings.keepRecords;
      await inChunks(signal, () => store.call('pruneVideos', { settledBefore, limit: CHUNK }));
      await inChunks(signal, () => store.call('pruneIdempotency', { before: now - KEY_WINDOW, limit: CHUNK }));
      await sweepHolds(context, now - UNSURE, signal);
      const lease = { id: job.id, lease: job.lease };
      await store.call('rescheduleVideoJob', { lease, dueAt: clock.now() + INTERVAL, attempts: 0 });
    },
  };
}

async function sweepMedia(context: VideoContext, now: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const tasks = await context.store.call('expiredVideoMedia', { now, limit: CHUNK });
    let failures = 0;
    for (const task of tasks) {
      await eraseMedia(context, task).catch((error) => {
        if (error instanceof StoreUnavailable) throw error;
        failures += 1;
        context.log.warn({ err: error, task: task.id }, 'media not erased yet');
      });
    }
    // What failed would come again at once.
    if (tasks.length < CHUNK || failures > 0) return;
  }
}

/** Reservations of tasks that never came into being, or whose cost is recorded. */
async function sweepHolds({ store }: VideoContext, before: number, signal: AbortSignal): Promise<void> {
  for (let after = ''; ; ) {
    signal.throwIfAborted();
    const ids = await store.call('heldTasks', { before, after, limit: CHUNK });
    for (const id of ids) {
      if (!(await store.call('mayCostMore', { id }))) await store.call('releaseTask', { id });
    }
    const last = ids.at(-1);
    if (last === undefined || ids.length < CHUNK) return;
    after = last;
  }
}

/** The store forgets the media only after they are gone. */
export async function eraseMedia({ store, mirror }: VideoContext, { id, owner, assets }: VideoTask): Promise<void> {
  const kept = assets.flatMap((asset) => asset.kept ?? []);
  await mirror?.erase({ id, owner }, kept);
  const left = assets.map(({ kept: gone, ...asset }) => (gone ? { ...asset, expired: true } : asset));
  await store.call('forgetVideoMedia', { id, assets: JSON.stringify(left) });
}

async function inChunks(signal: AbortSignal, prune: () => Promise<number>): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    if ((await prune()) < CHUNK) return;
  }
}
