/** Allotments of a gateway without defaults of keys and without limits of tags. */

import type { SharedAllotments } from '../../src/records/key-settings.ts';

export const UNSHARED: SharedAllotments = { keyDefaults: {}, tags: new Map() };
