/** Which Polygate this is. */

import { readFileSync } from 'node:fs';

/** As package.json has it, which stands two folders above this file, compiled or not. */
export const version: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
