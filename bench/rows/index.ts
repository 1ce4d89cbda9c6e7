/** All rows of the benchmark, in the order in which they run. */

import { frameRows } from './frames.ts';
import { largeRows } from './large.ts';
import type { Row } from './row.ts';
import { wholeRows } from './whole.ts';

export const rows: readonly Row[] = [...wholeRows, ...largeRows, ...frameRows];
