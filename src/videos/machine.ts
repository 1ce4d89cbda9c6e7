/** Task machine: one job per open task; each run makes one or more steps. */

import type { JobHandler } from '../jobs/job.ts';
import { isTerminal } from '../records/video-task.ts';
import { POLL_LANE_PREFIX, type VideoContext } from './context.ts';
import { finalize } from './finalize.ts';
import { poll } from './poll.ts';
import { submit } from './submit.ts';
import type { StepResult, TaskStep } from './task-step.ts';

/** Expected upper bound of a run; its lease is longer. */
const MAX_RUN_MS = 60_000;
/** Steps per run. More would mean that two gateways conflict with each other. */
const MAX_STEPS = 10;

/** Finishes the job of a terminal or deleted task without a step. */
export function createVideoHandler(context: VideoContext): JobHandler {
  const { store, pollBudget } = context;
  return {
    kind: 'video',
    limits: { total: 256, lane: 64, owner: 128 },
    maxRunMs: MAX_RUN_MS,
    rates: {
      limits: (now) => ({ prefix: POLL_LANE_PREFIX, ...pollBudget.free(now) }),
      onClaimed(job, now) {
        if (job.lane.startsWith(POLL_LANE_PREFIX)) pollBudget.take(job.lane, job.ref, now);
      },
    },
    async run(job, signal) {
      for (let steps = 0; steps < MAX_STEPS; steps++) {
        const loaded = await store.call('loadVideo', { id: job.ref });
        if (!loaded || isTerminal(loaded.task.status)) {
          await store.call('finishVideoJob', { lease: { id: job.id, lease: job.lease } });
          return;
        }
        if ((await runStep({ context, job, loaded, signal })) === 'over') return;
      }
      throw new Error(`video task ${job.ref} does not come to rest`);
    },
  };
}

function runStep(step: TaskStep): Promise<StepResult> {
  switch (step.loaded.task.phase) {
    case 'submitting':
      return submit(step);
    case 'polling':
      return poll(step);
    case 'finalizing':
      return finalize(step);
    case 'done':
      throw new Error(`video task ${step.job.ref} is open and done`);
  }
}
