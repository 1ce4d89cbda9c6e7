/**
 * Polling: queries the status of a task upstream. Before its deadline a task ends only by what the upstream reports about
 * it, never because polls fail.
 */

import { MAX_RETRY_AFTER_MS } from '../core/fields.ts';
import { defined } from '../core/plain-objects.ts';
import type { CancelResult, PollResult, VideoAsset } from '../core/video.ts';
import type { TaskMemory, VideoTask } from '../records/video-task.ts';
import type { LoadedVideo, VideoChange } from '../store/operations/videos.ts';
import { changeTask } from './change.ts';
import { pollLaneOf, targetOf, type VideoContext } from './context.ts';
import { pollDelay } from './delay.ts';
import { finalize } from './finalize.ts';
import { failure, settle } from './settle.ts';
import { queryUpstream, type UpstreamReport } from './status-query.ts';
import { isLate, reschedule, retryLater, type StepResult, saveChange, type TaskStep } from './task-step.ts';

export type PollReport = UpstreamReport<Exclude<PollResult, { type: 'follow' } | { type: 'unreadable' }>>;

/** A task is lost after this number of consecutive "not found" responses over at least this time. */
const MAX_MISSING_RESPONSES = 3;
const MIN_MISSING_MS = 60_000;
const MISSING_RETRY_DELAY_MS = 30_000;
/** Unless more were asked for. */
const MAX_RESULT_VIDEOS = 16;

/** Asks the upstream for the state of a task, when the poll budget of its credential has a slot. */
export async function poll(step: TaskStep): Promise<StepResult> {
  const { context, loaded } = step;
  const { task, attempt } = loaded;
  if (!hasUnsentCancel(step)) {
    const now = context.clock.now();
    const moment = context.pollBudget.reserve(pollLaneOf(attempt), task.id, now);
    // Of very many tasks, one asks again for a slot that is far away: no job waits longer.
    const dueAt = Math.min(moment, now + MAX_RETRY_AFTER_MS);
    if (moment > now) return saveChange(step, (fresh) => reschedule(step, fresh, { dueAt }), loaded);
  }
  const cancellation = hasUnsentCancel(step) ? await sendCancel(step) : undefined;
  const report = await queryStatus(step);
  if (report.type === 'read' && report.result.type === 'completed' && report.result.assets.length > 0) {
    return saveResult(step, report.result.assets, report.result);
  }
  const final = isLate(context.expiry, task) && !isTerminalReport(report) ? await cancelAndExpire(step) : undefined;
  return saveChange(step, (fresh) => {
    const known = cancellation ? { ...fresh, task: withMemory(fresh.task, { cancellation }) } : fresh;
    return final ? final(known) : changeForReport(step, known, report);
  });
}

/** A result of more videos than any provider makes has the first ones: each is charged and copied. */
export async function queryStatus({ context, loaded, signal }: Pick<TaskStep, 'context' | 'loaded' | 'signal'>) {
  const { attempt, task } = loaded;
  const report = await queryUpstream<PollResult>(context, attempt, ({ video }) => video.poll(attempt.ref), signal);
  if (report.type !== 'read' || report.result.type !== 'completed') return report;
  const most = Math.max(task.details.count, MAX_RESULT_VIDEOS);
  return { ...report, result: { ...report.result, assets: report.result.assets.slice(0, most) } };
}

/** A cancellation was requested and not sent to the upstream yet. */
function hasUnsentCancel({ context, loaded }: TaskStep): boolean {
  const { task, attempt } = loaded;
  return task.cancelRequested && !task.memory.cancellation && !!targetOf(context, attempt)?.video.cancel;
}

/** Returns the upstream's response, undefined if there was none. Later polls decide how the task ends. */
async function sendCancel({ context, loaded: { attempt }, signal }: TaskStep): Promise<TaskMemory['cancellation']> {
  const video = targetOf(context, attempt)?.video;
  const call = video?.cancel?.bind(video);
  if (!call) return undefined;
  const response = await queryUpstream<CancelResult>(context, attempt, () => call(attempt.ref), signal);
  return response.type === 'read' ? response.result.type : undefined;
}

function isTerminalReport(report: PollReport): boolean {
  if (report.type !== 'read') return false;
  const { type } = report.result;
  return type === 'completed' || type === 'failed' || type === 'cancelled' || type === 'expired';
}

/** After the deadline and a last poll: cancels the task upstream, and expires it. */
async function cancelAndExpire(step: TaskStep): Promise<(loaded: LoadedVideo) => VideoChange> {
  if (!step.loaded.task.memory.cancellation) await sendCancel(step);
  return (loaded) =>
    settle(step.context, loaded, { status: 'expired', error: failure('deadline_exceeded'), reconcileCost: true });
}

function changeForReport(step: TaskStep, loaded: LoadedVideo, report: PollReport): VideoChange {
  switch (report.type) {
    case 'inconclusive':
      return retryLater(step, loaded, { retryAfter: report.retryAfter, task: { memory: loaded.task.memory } });
    case 'missing':
      return changeForMissing(step, loaded);
    case 'read':
      return changeForResult(step, loaded, report);
  }
}

function changeForResult(
  step: TaskStep,
  loaded: LoadedVideo,
  report: Extract<PollReport, { type: 'read' }>,
): VideoChange {
  const { context } = step;
  const { result, retryAfter } = report;
  switch (result.type) {
    case 'queued':
      return pollAgain(step, loaded, { retryAfter });
    case 'running': {
      const progress = progressOf(loaded.task, result.progress);
      return pollAgain(step, loaded, { retryAfter, status: 'in_progress', progress });
    }
    case 'unknown': {
      const { provider, taskId } = loaded.attempt;
      context.events?.unknownVideoStatus(provider);
      context.log.warn({ provider, task: taskId, word: result.status }, 'an upstream says a status that is not known');
      return pollAgain(step, loaded, { retryAfter, status: 'in_progress' });
    }
    case 'lost':
      return changeForMissing(step, loaded);
    case 'completed':
      return changeForEmptyResult(step, loaded, result);
    case 'failed':
      return settle(context, loaded, { status: 'failed', error: result.error, charge: result });
    case 'cancelled':
      return settle(context, loaded, { ...cancelledEnding(context, loaded.task), charge: result });
    case 'expired':
      return settle(context, loaded, { status: 'expired', error: failure('deadline_exceeded'), charge: result });
  }
}

/** A task cancelled because of its deadline is `expired`, not `cancelled`. */
function cancelledEnding(context: VideoContext, task: VideoTask) {
  if (isLate(context.expiry, task) && !task.cancelRequested) {
    return { status: 'expired', error: failure('deadline_exceeded') } as const;
  }
  return { status: 'cancelled', error: failure('cancelled') } as const;
}

/** Completed without a video: polls once more, because some upstreams report completion early. */
function changeForEmptyResult(
  step: TaskStep,
  loaded: LoadedVideo,
  result: Extract<PollResult, { type: 'completed' }>,
): VideoChange {
  if (loaded.task.memory.empty) {
    const error = failure('result_missing');
    return settle(step.context, loaded, { status: 'failed', error, charge: result });
  }
  return pollAgain(step, { ...loaded, task: withMemory(loaded.task, { empty: true }) }, {});
}

/** Some upstreams delete a task when they cancel it, so a missing task counts as cancelled after a cancellation. */
function changeForMissing(step: TaskStep, loaded: LoadedVideo): VideoChange {
  const { context } = step;
  const now = context.clock.now();
  const { cancellation } = loaded.task.memory;
  if (cancellation === 'accepted') return settle(context, loaded, cancelledEnding(context, loaded.task));
  const { count, since: first } = loaded.task.memory.missing ?? { count: 0, since: now };
  // By a clock that was set back, it would not pass.
  const since = Math.min(first, now);
  if (count + 1 >= MAX_MISSING_RESPONSES && now - since >= MIN_MISSING_MS) {
    return loaded.task.cancelRequested && cancellation === undefined
      ? settle(context, loaded, cancelledEnding(context, loaded.task))
      : settle(context, loaded, { status: 'failed', error: failure('upstream_task_lost'), reconcileCost: true });
  }
  const task = withMemory(loaded.task, { missing: { count: count + 1, since } });
  return reschedule(step, { ...loaded, task }, { dueAt: now + MISSING_RETRY_DELAY_MS });
}

function pollAgain(
  step: TaskStep,
  loaded: LoadedVideo,
  { retryAfter, ...seen }: Pick<Partial<VideoTask>, 'status' | 'progress'> & { retryAfter?: number },
): VideoChange {
  const { clock, random } = step.context;
  const { task, attempt } = loaded;
  const now = clock.now();
  const { cancellation, empty: isEmpty, polls = 0 } = task.memory;
  const memory: TaskMemory = { polls: polls + 1, ...defined({ cancellation, empty: isEmpty }) };
  const { status = task.status, progress = task.progress } = seen;
  const isChanged = status !== task.status || progress !== task.progress;
  const elapsedMs = now - (attempt.acceptedAt ?? task.createdAt);
  const minIntervalMs = targetOf(step.context, attempt)?.video.minPollIntervalMs;
  const dueAt = now + pollDelay({ polls: polls + 1, elapsedMs, minIntervalMs, retryAfter, random });
  return reschedule(step, loaded, { task: { status, progress, memory, ...(isChanged && { updatedAt: now }) }, dueAt });
}

/** Whole percent, never decreasing; 100 is reserved for completed tasks. */
function progressOf(task: VideoTask, progress: number | undefined): number | undefined {
  if (progress === undefined) return task.progress;
  return Math.max(task.progress ?? 0, Math.min(99, Math.floor(progress)));
}

function withMemory(task: VideoTask, memory: TaskMemory): VideoTask {
  return { ...task, memory: { ...task.memory, ...memory } };
}

/** Stores the result before mirroring it. Videos that came inline are mirrored from the response. */
async function saveResult(
  step: TaskStep,
  found: readonly VideoAsset[],
  { seconds, tokens, cost }: Extract<PollResult, { type: 'completed' }>,
): Promise<StepResult> {
  const { context, job, signal } = step;
  const charge = { seconds, tokens, cost };
  const assets = found.map((asset) => ({ source: storedSource(asset), mime: asset.mime }));
  const result = await changeTask(
    context,
    job.ref,
    (loaded) => {
      if (!context.mirror) return settle(context, loaded, { status: 'completed', assets, charge });
      const { task } = loaded;
      const isNews = task.status !== 'in_progress';
      const updatedAt = isNews ? context.clock.now() : task.updatedAt;
      const memory = { charge, mirror: { tries: 0, since: context.clock.now() } };
      return { task: { ...task, status: 'in_progress', phase: 'finalizing', assets, memory, updatedAt } };
    },
    { signal },
  );
  if (!result?.changed || !context.mirror) return 'over';
  return finalize({ ...step, loaded: result }, found);
}

function storedSource(asset: VideoAsset) {
  if ('url' in asset) return { url: asset.url };
  return 'path' in asset ? { path: asset.path } : { inline: true as const };
}
