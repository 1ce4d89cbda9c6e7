/**
 * Bound of V8's young generation, and how it is collected. By default it grows to 134 MB under load, although most objects of a request die at
 * once. `--max-semi-space-size` only works on the command line of Node; the growth can be switched while it runs.
 */

import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Size from which it does not grow: collections cost hardly more than with a larger one. */
const TARGET_BYTES = 32 * 2 ** 20;
const GROWTH_FACTOR = 2;
const NO_GROWTH_FACTOR = 1;

/** Looks at the size after each collection, since V8 also shrinks it when it idles. Returns how to end that. */
export function boundYoungGeneration(targetBytes = TARGET_BYTES): () => void {
  let growth = GROWTH_FACTOR;
  const observer = new PerformanceObserver(() => {
    const next = youngGenerationBytes() >= targetBytes ? NO_GROWTH_FACTOR : GROWTH_FACTOR;
    if (next === growth) return;
    growth = next;
    setFlagsFromString(`--semi-space-growth-factor=${growth}`);
  });
  observer.observe({ entryTypes: ['gc'] });
  return () => {
    observer.disconnect();
    setFlagsFromString(`--semi-space-growth-factor=${GROWTH_FACTOR}`);
  };
}

/**
 * Collects the young generation without helping threads, in all threads. Few objects survive, so waking the helpers takes more
 * processor time than they save: about 2 % of a request's. Where many survive and many cores idle, a pause is longer.
 */
export function collectWithoutHelpers(): void {
  setFlagsFromString('--no-parallel-scavenge');
}

export function youngGenerationBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
}
