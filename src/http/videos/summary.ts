/** Sums of video tasks: their number by state and by model, the seconds made, and the cost. */

import type { Json } from '../../core/json/json.ts';
import { decimalOf } from '../../core/money.ts';
import { VIDEO_STATUSES, type VideoStatus } from '../../records/video-task.ts';
import type { CreatedBetween } from '../../store/list-search.ts';
import type { VideoSum } from '../../store/operations/video-usage.ts';
import type { Store } from '../../store/store.ts';

/** Maximum of tasks in the sums: the newest ones. */
const MAX_TASKS = 50_000;

/** Tasks to sum up; undefined members stand for all. */
export interface VideoSummaryScope extends CreatedBetween {
  owner: string | undefined;
  model: string | undefined;
}

export async function summarizeVideos(store: Pick<Store, 'call'>, scope: VideoSummaryScope): Promise<Json> {
  const sums = await store.call('videoSums', { ...scope, depth: MAX_TASKS });
  const total = totalOf(sums);
  const models = Map.groupBy(sums, ({ model }) => model);
  return {
    data: {
      ...total,
      states: Object.fromEntries(VIDEO_STATUSES.map((status) => [status, tasksIn(sums, status)])),
      models: [...models]
        .map(([model, own]) => ({ model, ...totalOf(own) }))
        .toSorted((one, other) => other.tasks - one.tasks),
      complete: total.tasks < MAX_TASKS,
    },
  };
}

function tasksIn(sums: readonly VideoSum[], status: VideoStatus): number {
  return sums.reduce((count, sum) => count + (sum.status === status ? sum.tasks : 0), 0);
}

function totalOf(sums: readonly VideoSum[]) {
  return {
    tasks: sums.reduce((count, sum) => count + sum.tasks, 0),
    seconds: sums.reduce((count, sum) => count + sum.seconds, 0),
    cost: decimalOf(sums.reduce((cost, sum) => cost + sum.cost, 0n)),
  };
}
