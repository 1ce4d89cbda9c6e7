/** Finalization: copies the finished videos to the mirror. After repeated failures the task completes without copies. */

import { GatewayError } from '../core/errors.ts';
import type { VideoAsset } from '../core/video.ts';
import type { MirroredFile, TaskAsset } from '../records/video-task.ts';
import { changeTask } from './change.ts';
import type { Mirror } from './mirror.ts';
import { settle } from './settle.ts';
import { currentSource, queryAssets } from './source.ts';
import { retryLater, type StepResult, saveChange, type TaskStep } from './task-step.ts';

const MAX_MIRROR_TRIES = 5;
/** Maximum time that a task waits for its mirror. */
const MIRROR_TIMEOUT_MS = 15 * 60_000;

/** Status codes of an expired URL. */
const EXPIRED_URL_STATUSES = new Set([403, 404, 410]);

/** `fresh`: assets that the upstream has just reported. */
export async function finalize(step: TaskStep, fresh?: readonly VideoAsset[]): Promise<StepResult> {
  const { context, loaded } = step;
  const { mirror } = context;
  if (!mirror) return complete(step);
  const assets = await Promise.all(loaded.task.assets.map((asset) => withoutLostCopy(mirror, asset)));
  const isInline = assets.some(({ source, kept }) => 'inline' in source && !kept);
  const reported = fresh ?? (isInline ? await queryAssets(context, loaded.attempt, step.signal) : undefined);
  const limit = mirrorTimeout(step);
  const errors: unknown[] = [];
  try {
    for (const [index, asset] of assets.entries()) {
      if (asset.kept) continue;
      if (loaded.task.assets[index]?.kept) await saveAsset(step, index, { kept: undefined });
      const outcome = await mirrorAsset({ ...step, limit: limit.signal }, mirror, {
        asset,
        index,
        fresh: reported?.[index],
      });
      if (outcome.type === 'failed') errors.push(outcome.error);
      if (outcome.type === 'kept') await saveAsset(step, index, { kept: outcome.kept });
    }
  } finally {
    limit.cancel();
  }
  return errors.length > 0 ? retryOrComplete(step, errors) : complete(step);
}

/** A copy from before is gone where the data folder was lost and restored from a backup without media. */
async function withoutLostCopy(mirror: Mirror, asset: TaskAsset): Promise<TaskAsset> {
  const { kept, ...rest } = asset;
  // Where it cannot be asked, nothing is lost by believing that it is there.
  return kept === undefined || (await mirror.has(kept).catch(() => true)) ? asset : rest;
}

/** Signal that aborts at the end of the time for mirroring. */
function mirrorTimeout({ context: { clock }, loaded: { task }, signal }: TaskStep) {
  const end = new AbortController();
  const now = clock.now();
  // A clock that was set back leaves no more than the whole time.
  const left = Math.min(task.memory.mirror?.since ?? now, now) + MIRROR_TIMEOUT_MS - now;
  const stop = () => end.abort(new GatewayError('timeout', 'The mirror has taken too long.'));
  return { signal: AbortSignal.any([signal, end.signal]), cancel: clock.after(Math.max(0, left), stop) };
}

type MirrorOutcome = { type: 'kept'; kept: MirroredFile } | { type: 'skipped' } | { type: 'failed'; error: unknown };

async function mirrorAsset(
  { context, loaded, signal, limit }: TaskStep & { limit: AbortSignal },
  mirror: Mirror,
  { asset, index, fresh }: { asset: TaskAsset; index: number; fresh?: VideoAsset },
): Promise<MirrorOutcome> {
  try {
    const source = await currentSource(context, loaded.attempt, { asset, fresh }, limit);
    if (!source) throw new GatewayError('upstream_error', 'The provider does not hand out the video at the moment.');
    const { id, owner } = loaded.task;
    const kept = await mirror.save({ id, owner }, index, source, limit);
    return kept ? { type: 'kept', kept } : { type: 'skipped' };
  } catch (error) {
    signal.throwIfAborted();
    return { type: 'failed', error };
  }
}

/** Stores the result for one asset, independently of the others. */
async function saveAsset({ context, job, signal }: TaskStep, index: number, news: Partial<TaskAsset>): Promise<void> {
  await changeTask(
    context,
    job.ref,
    ({ task }) => ({
      task: { ...task, assets: task.assets.map((asset, at) => (at === index ? { ...asset, ...news } : asset)) },
    }),
    { signal },
  );
}

async function retryOrComplete(step: TaskStep, errors: readonly unknown[]): Promise<StepResult> {
  const { context, job, loaded, signal } = step;
  context.log.warn({ err: errors[0], task: job.ref }, 'a finished video could not be mirrored');
  if (errors.some((error) => error instanceof GatewayError && EXPIRED_URL_STATUSES.has(error.upstreamStatus ?? 0))) {
    const renewed = await queryAssets(context, loaded.attempt, signal);
    for (const [index, asset] of renewed?.entries() ?? []) {
      if ('url' in asset) await saveAsset(step, index, { source: { url: asset.url } });
    }
  }
  const now = context.clock.now();
  return saveChange(step, (fresh) => {
    const { tries, since } = fresh.task.memory.mirror ?? { tries: 0, since: now };
    const { charge = {} } = fresh.task.memory;
    if (tries + 1 >= MAX_MIRROR_TRIES || now - since >= MIRROR_TIMEOUT_MS) {
      return settle(context, fresh, { status: 'completed', assets: fresh.task.assets, charge });
    }
    return retryLater(step, fresh, { task: { memory: { ...fresh.task.memory, mirror: { tries: tries + 1, since } } } });
  });
}

function complete(step: TaskStep): Promise<StepResult> {
  return saveChange(step, (fresh) => {
    const { assets, memory } = fresh.task;
    return settle(step.context, fresh, { status: 'completed', assets, charge: memory.charge ?? {} });
  });
}
