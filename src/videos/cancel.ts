/** Cancellation of a task by its owner. The final status is the one that the upstream reports. */

import { GatewayError } from '../core/errors.ts';
import type { VideoTask } from '../records/video-task.ts';
import type { LoadedVideo, VideoChange } from '../store/operations/videos.ts';
import { changeTask } from './change.ts';
import { jobLaneOf, targetOf, type VideoContext } from './context.ts';
import { failure, settle } from './settle.ts';

/** Does not change a terminal task. Throws `cancel_not_possible`, unless `abandon` ends the task without the upstream. */
export async function cancelTask(
  context: VideoContext,
  id: string,
  { abandon }: { abandon: boolean },
): Promise<VideoTask | undefined> {
  const result = await changeTask(context, id, (loaded) => decideCancellation(context, loaded, abandon));
  return result?.task;
}

function decideCancellation(context: VideoContext, loaded: LoadedVideo, abandon: boolean): VideoChange | undefined {
  const { task, attempt } = loaded;
  if (task.phase === 'submitting' && attempt.state === 'intent') {
    return settle(context, loaded, { status: 'cancelled', error: failure('cancelled') });
  }
  const cancels = targetOf(context, attempt)?.video.cancel !== undefined;
  const possible = cancels && task.phase !== 'finalizing' && !task.memory.cancellation;
  if (possible && task.cancelRequested) return undefined;
  if (possible) return requestCancellation(context, loaded);
  if (abandon) {
    const { charge } = task.memory;
    return settle(context, loaded, { status: 'cancelled', error: failure('abandoned'), charge, reconcileCost: true });
  }
  if (task.cancelRequested) return undefined;
  const reason = cancels ? 'the provider has finished it' : 'its provider cannot cancel what it has begun';
  throw new GatewayError(
    'cancel_not_possible',
    `The task cannot be cancelled: ${reason}. Send {"abandon": true} to give up the result; it is charged nevertheless.`,
  );
}

function requestCancellation({ clock }: VideoContext, { task: before, attempt }: LoadedVideo): VideoChange {
  const now = clock.now();
  const task = { ...before, cancelRequested: true, updatedAt: now };
  return { task, job: { hasten: now, lane: jobLaneOf({ task, attempt }) } };
}
