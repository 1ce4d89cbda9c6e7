/** Memory for request bodies of one process of a gateway. */

import type { Config } from '../config/resolved.ts';
import { defaultBodyMemory } from '../http/body-budget.ts';

/** The share of one of several workers in the memory for bodies, which holds at least one. */
export function bodyMemoryOf({ bodyMemory, bodyLimit }: Config['server'], workers = 1): number {
  return Math.max(bodyLimit, Math.floor((bodyMemory ?? defaultBodyMemory(bodyLimit)) / workers));
}
