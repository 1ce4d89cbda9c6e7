/** Number of workers of a gateway. */

import { availableParallelism } from 'node:os';

/** Largest number of workers; more than processors make nothing faster. */
export const MAX_WORKERS = 256;

/** The number that `auto` or a number stands for. */
export function workerCount(workers: number | 'auto'): number {
  return workers === 'auto' ? availableParallelism() : workers;
}
