/** Version of this Polygate. */

import { readFileSync } from 'node:fs';

/** Version in package.json, which is two folders above this file, compiled or not. */
export const version: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
