/** The names of members that a request for a video may hold. */

import { knownNames } from '../core/json/names.ts';
import { videoSchema } from './request-schema.ts';

export const videoNames = knownNames([videoSchema]);
