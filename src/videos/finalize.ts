/** Between the upstream's success and ours stands the mirror. It gets some time, but a paid result never fails because of it. */

import { GatewayError } from '../core/errors.ts';
import type { VideoAsset } from '../core/video.ts';
import { change } from './change.ts';
import type { Mirror } from './mirror.ts';
import { settle } from './settle.ts';
import { askAssets, sourceOf } from './source.ts';
import { backOff, conclude, type Progress, type TaskStep } from './step.ts';
import type { MirroredFile, TaskAsset } from './task.ts';

const TRIES = 5;
/** Milliseconds that the task waits for its mirror at most. */
const PATIENCE = 15 * 60_000;

/** What an address answers that has run out. */
const OUTDATED = new Set([403, 404, 410]);

/** `fresh` is what the upstream has just reported. */
export async function finalize(step: TaskStep, fresh?: readonly VideoAsset[]): Promise<Progress> {
  const { context, loaded } = step;
  const { mirror } = context;
  if (!mirror) return complete(step);
  const isInline = loaded.task.assets.some(({ source, kept }) => 'inline' in source && !kept);
  const reported = fresh ?? (isInline ? await askAssets(context, loaded.attempt, step.signal) : undefined);
  const limit = limitOf(step);
  const errors: unknown[] = [];
  for (const [index, asset] of loaded.task.assets.entries()) {
    if (asset.kept) continue;
    const outcome = await keep({ ...step, limit: limit.signal }, mirror, { asset, index, fresh: reported?.[index] });
    if (outcome.type === 'failed') errors.push(outcome.error);
    if (outcome.type === 'kept') await note(step, index, { kept: outcome.kept });
  }
  limit.cancel();
  return errors.length > 0 ? tryLater(step, errors) : complete(step);
}

/** Ends what is left of the time that a task waits for its mirror. */
function limitOf({ context: { clock }, loaded: { task }, signal }: TaskStep) {
  const end = new AbortController();
  const left = (task.memory.mirror?.since ?? clock.now()) + PATIENCE - clock.now();
  const stop = () => end.abort(new GatewayError('timeout', 'The mirror has taken too long.'));
  return { signal: AbortSignal.any([signal, end.signal]), cancel: clock.after(Math.max(0, left), stop) };
}

type Outcome = { type: 'kept'; kept: MirroredFile } | { type: 'skipped' } | { type: 'failed'; error: unknown };

async function keep(
  { context, loaded, signal, limit }: TaskStep & { limit: AbortSignal },
  mirror: Mirror,
  { asset, index, fresh }: { asset: TaskAsset; index: number; fresh?: VideoAsset },
): Promise<Outcome> {
  try {
    const source = await sourceOf(context, loaded.attempt, { asset, fresh }, limit);
    if (!source) throw new GatewayError('upstream_error', 'The provider does not hand out the video at the moment.');
    const { id, owner } = loaded.task;
    const kept = await mirror.keep({ id, owner }, index, source, limit);
    return kept ? { type: 'kept', kept } : { type: 'skipped' };
  } catch (error) {
    signal.throwIfAborted();
    return { type: 'failed', error };
  }
}

/** What is kept stays kept, whatever happens to the others. */
async function note({ context, job, signal }: TaskStep, index: number, news: Partial<TaskAsset>): Promise<void> {
  await change(
    context,
    job.ref,
    ({ task }) => ({
      task: { ...task, assets: task.assets.map((asset, at) => (at === index ? { ...asset, ...news } : asset)) },
    }),
    { signal },
  );
}

async function tryLater(step: TaskStep, errors: readonly unknown[]): Promise<Progress> {
  const { context, job, loaded, signal } = step;
  context.log.warn({ err: errors[0], task: job.ref }, 'a finished video could not be mirrored');
  if (errors.some((error) => error instanceof GatewayError && OUTDATED.has(error.upstreamStatus ?? 0))) {
    const renewed = await askAssets(context, loaded.attempt, signal);
    for (const [index, asset] of renewed?.entries() ?? []) {
      if ('url' in asset) await note(step, index, { source: { url: asset.url } });
    }
  }
  const now = context.clock.now();
  return conclude(step, (fresh) => {
    const { tries, since } = fresh.task.memory.mirror ?? { tries: 0, since: now };
    const { charge = {} } = fresh.task.memory;
    if (tries + 1 >= TRIES || now - since >= PATIENCE) {
      return settle(context, fresh, { status: 'completed', assets: fresh.task.assets, charge });
    }
    return backOff(step, fresh, { task: { memory: { ...fresh.task.memory, mirror: { tries: tries + 1, since } } } });
  });
}

function complete(step: TaskStep): Promise<Progress> {
  return conclude(step, (fresh) => {
    const { assets, memory } = fresh.task;
    return settle(step.context, fresh, { status: 'completed', assets, charge: memory.charge ?? {} });
  });
}
