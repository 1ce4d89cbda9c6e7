/** A caller wants no video any more. What the upstream then reports is what counts. */

import { GatewayError } from '../core/errors.ts';
import { changeTask, type LoadedVideo, type VideoChange } from './change.ts';
import { targetOf, type VideoContext } from './context.ts';
import { failure, settle } from './settle.ts';
import type { VideoTask } from './task.ts';

/** A terminal task stays as it is. Throws `cancel_not_possible`; `abandon` ends it then without the upstream. */
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
  if (possible) return requestCancellation(context, task);
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

function requestCancellation({ clock }: VideoContext, task: VideoTask): VideoChange {
  const now = clock.now();
  return { task: { ...task, cancelRequested: true, updatedAt: now }, job: { hasten: now } };
}
