/** Settlement: terminal status, cost and webhook of a task as one change. */

import { NO_CREDENTIAL, withoutKey } from '../core/credential.ts';
import type { TaskErrorCode, VideoCharge, VideoFailure } from '../core/video.ts';
import type { TaskAsset, TerminalStatus, VideoTask } from '../records/video-task.ts';
import type { LoadedVideo, VideoChange } from '../store/operations/videos.ts';
import { newDelivery } from '../webhooks/envelope.ts';
import { laneOf, targetOf, type VideoContext } from './context.ts';
import { costOfCompleted, costWithoutVideo, ledgerEntry, type TaskCost } from './task-cost.ts';
import { encodeTask } from './task-object.ts';

export type TaskEnding =
  | { status: 'completed'; assets: TaskAsset[]; charge: VideoCharge }
  | {
      status: Exclude<TerminalStatus, 'completed'>;
      error: VideoFailure;
      charge?: VideoCharge;
      /** The upstream may continue with the task, so its cost is reconciled later. */
      reconcileCost?: boolean;
    };

export function settle(context: VideoContext, { task, attempt }: LoadedVideo, given: TaskEnding): VideoChange {
  const ending = withoutKeyOf(context, attempt, given);
  const now = context.clock.now();
  const taskCost =
    ending.status === 'completed'
      ? costOfCompleted(task.details, ending.charge, ending.assets)
      : costWithoutVideo(ending.charge ?? {});
  // By a clock that was set back, it would count as old as soon as that is right again.
  const endedAt = Math.max(now, task.createdAt);
  const settled = endedTask(task, ending, taskCost, {
    endedAt,
    mediaExpiresAt: endedAt + context.settings.keepMediaMs,
  });
  const needsReconciliation = ending.status !== 'completed' && ending.reconcileCost && mayHaveCost(attempt.state);
  return {
    task: settled,
    settlement: {
      ledger: ledgerEntry(settled, attempt.provider, taskCost, now),
      ...(settled.callbackUrl !== undefined && {
        delivery: newDelivery({
          taskId: task.id,
          owner: task.owner,
          status: ending.status,
          url: settled.callbackUrl,
          createdAt: now,
          task: encodeTask(settled, context.taskObject),
        }),
      }),
      ...(needsReconciliation && { reconciliation: costReconciliationJob(task, laneOf(attempt), now) }),
    },
  };
}

/** The provider may name the key that it was asked with. */
function withoutKeyOf(context: VideoContext, attempt: LoadedVideo['attempt'], ending: TaskEnding): TaskEnding {
  if (ending.status === 'completed') return ending;
  const { value } = targetOf(context, attempt)?.credential ?? { value: NO_CREDENTIAL };
  return { ...ending, error: { ...ending.error, message: withoutKey(ending.error.message, value) } };
}

function mayHaveCost(state: LoadedVideo['attempt']['state']): boolean {
  return state !== 'intent' && state !== 'rejected';
}

/** Delay before the first cost query for a task that may continue upstream. */
const FIRST_RECONCILIATION_DELAY_MS = 60_000;

/** Job that asks the upstream for the cost of a task that may continue there; due a minute after `now`. */
export function costReconciliationJob(task: VideoTask, lane: string, now: number) {
  return { kind: 'video-booking', ref: task.id, lane, owner: task.owner, dueAt: now + FIRST_RECONCILIATION_DELAY_MS };
}

function endedTask(
  task: VideoTask,
  ending: TaskEnding,
  taskCost: TaskCost,
  { endedAt, mediaExpiresAt }: { endedAt: number; mediaExpiresAt: number },
): VideoTask {
  const assets = ending.status === 'completed' ? ending.assets : task.assets;
  return {
    ...task,
    status: ending.status,
    phase: 'done',
    memory: {},
    assets,
    seconds: taskCost.seconds,
    cost: taskCost.cost,
    updatedAt: endedAt,
    settledAt: endedAt,
    ...(ending.status === 'completed' ? { progress: 100 } : { error: ending.error }),
    // Copies of a task that did not complete are deleted at once.
    ...(assets.some(({ kept }) => kept) && {
      mediaExpiresAt: ending.status === 'completed' ? mediaExpiresAt : endedAt,
    }),
  };
}

/** The gateway's own error for a task that ended without a video. */
export function failure(code: TaskErrorCode): VideoFailure {
  return { code, message: FAILURE_MESSAGES[code] };
}

const FAILURE_MESSAGES: Record<TaskErrorCode, string> = {
  content_policy_violation: 'The content was refused by the safety system of the provider.',
  invalid_input: 'The provider cannot work with this request.',
  model_unavailable: 'The model is not available at the moment.',
  upstream_rejected: 'The provider refused the request.',
  upstream_error: 'The provider failed.',
  upstream_auth: 'The provider refused the credentials of this gateway.',
  upstream_task_lost: 'The provider no longer knows the task.',
  submit_unknown:
    'The connection broke while the task was handed to the provider, and it is unknown whether it was accepted.',
  result_missing: 'The provider reported success but gave no video.',
  deadline_exceeded: 'The task was not finished in time.',
  cancelled: 'The task was cancelled.',
  abandoned: 'The task was abandoned by the caller; the provider could not cancel it.',
};
