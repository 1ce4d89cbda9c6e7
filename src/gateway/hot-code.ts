/**
 * Optimized code over pauses. By default V8 collects in an idle process so that it gives up hidden classes without objects, and
 * with them all code that was optimized for these: thousands of requests after a pause would cost twice.
 */

import { setFlagsFromString } from 'node:v8';

/** An idle process still collects, as one under load does. */
export function keepHotCode(): void {
  setFlagsFromString('--no-memory-reducer-favors-memory');
}
