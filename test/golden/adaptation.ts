/** What becomes of a field whose value does not arrive as it is. */

import type { Json } from '../../src/core/json/json.ts';

/** Stands for a value that only has to be there. */
export const ANY = Symbol('any');

/** What stands where in the upstream's body instead, one of several such, or in words why nothing has to. */
export type Adaptation = string | { [path: string]: Json } | Adaptation[];
