/** Surfaces: the parts of the API that a key can be scoped to. */

import { protocols } from './index.ts';

/** The ids of the protocols, and the video tasks. */
export const SURFACES: readonly string[] = [...protocols.map(({ id }) => id), 'videos'];
