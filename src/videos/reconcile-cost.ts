/** A task that ended without its upstream may still be made, and paid: its cost is learned in the end, for a while. */

import type { Handler, Job } from '../jobs/job.ts';
import type { LoadedVideo } from '../store/operations/videos.ts';
import { billOf, billWithoutVideo, ledgerEntry } from './charge.ts';
import type { VideoContext } from './context.ts';
import { findLost } from './find-submission.ts';
import { askState, type PollReport } from './poll.ts';
import type { VideoAttempt } from './task.ts';

const LIMITS = { total: 32, lane: 4 };
const PATIENCE = 60_000;
/** Looks in all, about eight hours; the first ones come more quickly. */
const LOOKS = 60;
const QUICK_LOOKS = 10;
const QUICK_PAUSE = 60_000;
const PAUSE = 10 * 60_000;
/** Looks after which a task that is not there has never been. */
const MISSES = 3;

export function createBookingHandler(context: VideoContext): Handler {
  const { store, clock } = context;

  async function run(job: Job, signal: AbortSignal): Promise<void> {
    const lease = { id: job.id, lease: job.lease };
    const loaded = await store.call('loadVideo', { id: job.ref });
    if (!loaded) return store.call('finishVideoJob', { lease });
    const { task } = loaded;
    const found = await locate(context, loaded, signal);
    if (!found) return store.call('bookVideo', { lease, task, now: clock.now() });
    const report = await askState({ context, loaded: found, signal });
    const { attempt } = found;
    const now = clock.now();
    const bill = billOfReport(found, report);
    if (bill) {
      const entry = ledgerEntry(task, attempt.provider, bill, now);
      await store.call('bookVideo', { lease, task, attempt, entry, now });
      return context.wake('video-use');
    }
    const isGone = report.type === 'missing' && job.attempt + 1 >= MISSES;
    if (isGone || job.attempt + 1 >= LOOKS) return store.call('bookVideo', { lease, task, attempt, now });
    const dueAt = now + (job.attempt < QUICK_LOOKS ? QUICK_PAUSE : PAUSE);
    await store.call('rescheduleVideoJob', { lease, dueAt, attempts: 1 });
  }

  return { kind: 'video-booking', limits: LIMITS, patience: PATIENCE, run };
}

/** With the name that the upstream gave the task, where it can be learned. */
async function locate(context: VideoContext, { task, attempt }: LoadedVideo, signal: AbortSignal) {
  if (attempt.state === 'accepted') return { task, attempt };
  const finding = await findLost(context, { task, attempt }, signal);
  if (finding.type !== 'found') return undefined;
  const accepted: VideoAttempt = { ...attempt, state: 'accepted', ref: finding.ref };
  return { task, attempt: accepted };
}

function billOfReport({ task }: LoadedVideo, report: PollReport) {
  if (report.type !== 'read') return undefined;
  const { result } = report;
  switch (result.type) {
    case 'completed':
      return billOf(
        task.details,
        result,
        result.assets.map(() => ({ source: { inline: true as const } })),
      );
    case 'failed':
    case 'cancelled':
    case 'expired':
      return billWithoutVideo(result);
    case 'queued':
    case 'running':
    case 'unknown':
    case 'lost':
      return undefined;
  }
}
