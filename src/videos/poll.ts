/**
 * Asks the upstream how a task is. Only what the upstream says of the task itself can end it; that nothing was learned
 * never does, until the deadline has passed.
 */

import { defined } from '../core/defined.ts';
import type { CancelResult, PollResult, VideoAsset } from '../core/video.ts';
import { change, type LoadedVideo, type VideoChange } from './change.ts';
import { laneOf, targetOf, type VideoContext } from './context.ts';
import { pollDelay } from './delay.ts';
import { finalize } from './finalize.ts';
import { failure, settle } from './settle.ts';
import { ask, type Finding } from './status-query.ts';
import { backOff, conclude, isLate, type Progress, type TaskStep, wait } from './step.ts';
import type { TaskMemory, VideoTask } from './task.ts';

export type PollReport = Finding<Exclude<PollResult, { type: 'follow' } | { type: 'unreadable' }>>;

/** A task is lost when so many answers in a row, over at least so many milliseconds, say that it is not there. */
const MISSES = 3;
const MISSING_FOR = 60_000;
const MISSING_PAUSE = 30_000;

export async function poll(step: TaskStep): Promise<Progress> {
  const { context, loaded } = step;
  const { task, attempt } = loaded;
  if (!wantsCancel(step)) {
    const now = context.clock.now();
    const moment = context.budget.take(laneOf(attempt), task.id, now);
    if (moment > now) return conclude(step, (fresh) => wait(step, fresh, { dueAt: moment }), loaded);
  }
  const cancellation = wantsCancel(step) ? await cancel(step) : undefined;
  const report = await askState(step);
  if (report.type === 'read' && report.result.type === 'completed' && report.result.assets.length > 0) {
    return keepResult(step, report.result.assets, report.result);
  }
  const final = isLate(context, task) && !ends(report) ? await giveUp(step) : undefined;
  return conclude(step, (fresh) => {
    const known = cancellation ? { ...fresh, task: remembering(fresh.task, { cancellation }) } : fresh;
    return final ? final(known) : decide(step, known, report);
  });
}

export function askState({ context, loaded: { attempt }, signal }: Pick<TaskStep, 'context' | 'loaded' | 'signal'>) {
  return ask<PollResult>(context, attempt, ({ video }) => video.poll(attempt.ref), signal);
}

/** The caller asked for it, and the upstream has not been told yet. */
function wantsCancel({ context, loaded }: TaskStep): boolean {
  const { task, attempt } = loaded;
  return task.cancelRequested && !task.memory.cancellation && !!targetOf(context, attempt)?.video.cancel;
}

/** What the upstream says to it, if it has heard of it; how the task ends is for its reports to say. */
async function cancel({ context, loaded: { attempt }, signal }: TaskStep): Promise<TaskMemory['cancellation']> {
  const video = targetOf(context, attempt)?.video;
  const call = video?.cancel?.bind(video);
  if (!call) return undefined;
  const answer = await ask<CancelResult>(context, attempt, () => call(attempt.ref), signal);
  return answer.type === 'read' ? answer.result.type : undefined;
}

function ends(report: PollReport): boolean {
  if (report.type !== 'read') return false;
  const { type } = report.result;
  return type === 'completed' || type === 'failed' || type === 'cancelled' || type === 'expired';
}

/** After the deadline, and after one last look. */
async function giveUp(step: TaskStep): Promise<(loaded: LoadedVideo) => VideoChange> {
  if (!step.loaded.task.memory.cancellation) await cancel(step);
  return (loaded) =>
    settle(step.context, loaded, { status: 'expired', error: failure('deadline_exceeded'), booking: true });
}

function decide(step: TaskStep, loaded: LoadedVideo, report: PollReport): VideoChange {
  switch (report.type) {
    case 'silence':
      return backOff(step, loaded, { retryAfter: report.retryAfter, task: { memory: loaded.task.memory } });
    case 'missing':
      return missing(step, loaded);
    case 'read':
      return read(step, loaded, report);
  }
}

function read(step: TaskStep, loaded: LoadedVideo, report: Extract<PollReport, { type: 'read' }>): VideoChange {
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
      context.events?.statusUnknown(provider);
      context.log.warn({ provider, task: taskId, word: result.word }, 'an upstream says a status that is not known');
      return pollAgain(step, loaded, { retryAfter, status: 'in_progress' });
    }
    case 'lost':
      return missing(step, loaded);
    case 'completed':
      return empty(step, loaded, result);
    case 'failed':
      return settle(context, loaded, { status: 'failed', error: result.error, charge: result });
    case 'cancelled':
      return settle(context, loaded, { ...cancelledAs(context, loaded.task), charge: result });
    case 'expired':
      return settle(context, loaded, { status: 'expired', error: failure('deadline_exceeded'), charge: result });
  }
}

/** What we cancelled because it was late has expired. */
function cancelledAs(context: VideoContext, task: VideoTask) {
  if (isLate(context, task) && !task.cancelRequested) {
    return { status: 'expired', error: failure('deadline_exceeded') } as const;
  }
  return { status: 'cancelled', error: failure('cancelled') } as const;
}

/** Done, but without a video: it may come a moment later. */
function empty(step: TaskStep, loaded: LoadedVideo, result: Extract<PollResult, { type: 'completed' }>): VideoChange {
  if (loaded.task.memory.empty) {
    const error = failure('result_missing');
    return settle(step.context, loaded, { status: 'failed', error, charge: result });
  }
  return pollAgain(step, { ...loaded, task: remembering(loaded.task, { empty: true }) }, {});
}

/** Some upstreams forget at once what they cancelled, and one that forgot it before it could say so did what it was asked. */
function missing(step: TaskStep, loaded: LoadedVideo): VideoChange {
  const { context } = step;
  const now = context.clock.now();
  const { cancellation } = loaded.task.memory;
  if (cancellation === 'accepted') return settle(context, loaded, cancelledAs(context, loaded.task));
  const { count, since } = loaded.task.memory.missing ?? { count: 0, since: now };
  if (count + 1 >= MISSES && now - since >= MISSING_FOR) {
    return loaded.task.cancelRequested && cancellation === undefined
      ? settle(context, loaded, cancelledAs(context, loaded.task))
      : settle(context, loaded, { status: 'failed', error: failure('upstream_task_lost') });
  }
  const task = remembering(loaded.task, { missing: { count: count + 1, since } });
  return wait(step, { ...loaded, task }, { dueAt: now + MISSING_PAUSE });
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
  const changes = status !== task.status || progress !== task.progress;
  const elapsed = now - (attempt.acceptedAt ?? task.createdAt);
  const least = targetOf(step.context, attempt)?.video.pollInterval;
  const dueAt = now + pollDelay({ polls: polls + 1, elapsed, least, retryAfter, random });
  return wait(step, loaded, { task: { status, progress, memory, ...(changes && { updatedAt: now }) }, dueAt });
}

/** Whole percent that never go back; 100 is for completed tasks. */
function progressOf(task: VideoTask, progress: number | undefined): number | undefined {
  if (progress === undefined) return task.progress;
  return Math.max(task.progress ?? 0, Math.min(99, Math.floor(progress)));
}

function remembering(task: VideoTask, memory: TaskMemory): VideoTask {
  return { ...task, memory: { ...task.memory, ...memory } };
}

/** The result is written down before it is fetched, and kept at once where its bytes came with the answer. */
async function keepResult(
  step: TaskStep,
  found: readonly VideoAsset[],
  { seconds, tokens, cost }: Extract<PollResult, { type: 'completed' }>,
): Promise<Progress> {
  const { context, job, signal } = step;
  const charge = { seconds, tokens, cost };
  const assets = found.map((asset) => ({ source: sourceOf(asset), mime: asset.mime }));
  const result = await change(
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

function sourceOf(asset: VideoAsset) {
  if ('url' in asset) return { url: asset.url };
  return 'path' in asset ? { path: asset.path } : { inline: true as const };
}
