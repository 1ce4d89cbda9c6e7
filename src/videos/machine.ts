/** The task machine: a job of the scheduler for every open task, and each run of it one or a few steps. */

import type { JobHandler } from '../jobs/job.ts';
import type { VideoContext } from './context.ts';
import { finalize } from './finalize.ts';
import { poll } from './poll.ts';
import { submit } from './submit.ts';
import { isTerminal } from './task.ts';
import type { StepResult, TaskStep } from './task-step.ts';

/** Milliseconds without a sign of life after which another gateway takes a task over. */
const MAX_RUN_MS = 60_000;
/** Steps at once; more means that two workers stand in each other's way. */
const MAX_STEPS = 10;

/** It does nothing for a task that is over, or gone. */
export function createVideoHandler(context: VideoContext): JobHandler {
  const { store } = context;
  return {
    kind: 'video',
    limits: { total: 256, lane: 64, owner: 128 },
    maxRunMs: MAX_RUN_MS,
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
