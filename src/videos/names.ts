/** Field names allowed in a creation request. */

import { knownNames } from '../core/json/names.ts';
import { videoSchema } from './request-schema.ts';

export const videoNames = knownNames([videoSchema]);
