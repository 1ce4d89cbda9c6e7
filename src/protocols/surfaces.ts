/** Surfaces: the parts of the API that a key can be scoped to. */

import { protocols } from './index.ts';

/** Surface of the video tasks, which have no protocol of their own. */
export const VIDEO_SURFACE = 'videos';

/** The id of each protocol, and the video tasks. */
export const SURFACES: readonly string[] = [...protocols.map(({ id }) => id), VIDEO_SURFACE];
