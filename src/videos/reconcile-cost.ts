/** Cost reconciliation: a task that ended here may go on upstream. It is queried for some hours to record its cost. */

import type { VideoCharge } from '../core/video.ts';
import type { Job, JobHandler } from '../jobs/job.ts';
import type { VideoAttempt } from '../records/video-task.ts';
import type { LoadedVideo } from '../store/operations/videos.ts';
import type { VideoContext } from './context.ts';
import { findLostSubmission } from './find-submission.ts';
import { type PollReport, queryStatus } from './poll.ts';
import { costOfCompleted, costWithoutVideo, ledgerEntry, type TaskCost } from './task-cost.ts';

const CONCURRENCY_LIMITS = { total: 32, lane: 4 };
const MAX_RUN_MS = 60_000;
/** Queries in total, over about eight hours; the first ones follow quickly. */
const MAX_QUERIES = 60;
const QUICK_QUERIES = 10;
const QUICK_INTERVAL_MS = 60_000;
const INTERVAL_MS = 10 * 60_000;
/** A task that is missing three times has gone; a single time may be a disturbance, so it counts as a third of all queries. */
const MISSING_WEIGHT = MAX_QUERIES / 3;

/** A task as the upstream has it: its attempt, and the report on it. */
interface TaskReport {
  attempt: VideoAttempt;
  /** `impossible`: nothing can be found out. `unclear`: not now. */
  report: PollReport | { type: 'impossible' } | { type: 'unclear' };
}

export function createCostReconciliationHandler(context: VideoContext): JobHandler {
  const { store, clock } = context;

  async function run(job: Job, signal: AbortSignal): Promise<void> {
    const lease = { id: job.id, lease: job.lease };
    const loaded = await store.call('loadVideo', { id: job.ref });
    if (!loaded) return store.call('finishVideoJob', { lease });
    const { task } = loaded;
    const { attempt, report } = await queryTask(context, loaded, signal);
    const now = clock.now();
    if (report.type === 'impossible') return store.call('reconcileVideoCost', { lease, task, now });
    const bill = costOfReport(loaded, report);
    if (bill) {
      const entry = ledgerEntry(task, attempt.provider, bill, now);
      await store.call('reconcileVideoCost', { lease, task, attempt, entry, now });
      return context.wake('video-use');
    }
    const queries = report.type === 'missing' ? MISSING_WEIGHT : 1;
    if (job.attempt + queries >= MAX_QUERIES) return store.call('reconcileVideoCost', { lease, task, attempt, now });
    const dueAt = now + (job.attempt < QUICK_QUERIES ? QUICK_INTERVAL_MS : INTERVAL_MS);
    await store.call('rescheduleVideoJob', { lease, dueAt, attempts: queries });
  }

  return { kind: 'video-booking', limits: CONCURRENCY_LIMITS, maxRunMs: MAX_RUN_MS, run };
}

/** A task that was lost from sight has an unclear attempt: it is found by the list of the upstream's tasks, if it has one. */
async function queryTask(
  context: VideoContext,
  { task, attempt }: LoadedVideo,
  signal: AbortSignal,
): Promise<TaskReport> {
  if (attempt.state === 'accepted')
    return { attempt, report: await queryStatus({ context, loaded: { task, attempt }, signal }) };
  const { sentAt = attempt.createdAt } = attempt;
  const finding = await findLostSubmission(context, { task, attempt }, { sentAt, signal });
  if (finding.type === 'none') return { attempt, report: { type: 'missing' } };
  if (finding.type !== 'found') return { attempt, report: finding };
  const accepted: VideoAttempt = { ...attempt, state: 'accepted', ref: finding.ref };
  return { attempt: accepted, report: await queryStatus({ context, loaded: { task, attempt: accepted }, signal }) };
}

function costOfReport({ task }: LoadedVideo, report: TaskReport['report']) {
  if (report.type !== 'read') return undefined;
  const { result } = report;
  switch (result.type) {
    case 'completed':
      if (result.assets.length === 0) return costOfEmptyResult(result);
      return costOfCompleted(
        task.details,
        result,
        result.assets.map(() => ({ source: { inline: true as const } })),
      );
    case 'failed':
    case 'cancelled':
    case 'expired':
      return costWithoutVideo(result);
    case 'queued':
    case 'running':
    case 'unknown':
    case 'lost':
      return undefined;
  }
}

/** Completed without a video: what the upstream reports, as for a task that ends so in time; until then it is queried again. */
function costOfEmptyResult(charge: VideoCharge): TaskCost | undefined {
  const bill = costWithoutVideo(charge);
  return bill.source === 'none' ? undefined : bill;
}
