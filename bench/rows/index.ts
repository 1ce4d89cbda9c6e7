/** All rows of the benchmark, in the order in which they run. */

import { frameRows } from './frames.ts';
import { largeRows } from './large.ts';
import { limitedRow } from './limited.ts';
import { longRows } from './long.ts';
import { memoryRow } from './memory.ts';
import { postgresRow } from './postgres.ts';
import { rateRows } from './rate.ts';
import { replicasRow } from './replicas.ts';
import type { Row } from './row.ts';
import { saturationRow } from './saturation.ts';
import { soakRow } from './soak.ts';
import { startRow } from './start.ts';
import { streamsRow } from './streams.ts';
import { wholeRows } from './whole.ts';
import { workersRow } from './workers.ts';

export const rows: readonly Row[] = [
  ...wholeRows,
  ...rateRows,
  saturationRow,
  ...largeRows,
  ...frameRows,
  memoryRow,
  streamsRow,
  startRow,
  workersRow,
  postgresRow,
  replicasRow,
  soakRow,
  limitedRow,
  ...longRows,
];
