/** Time of one operation: enough runs to fill a turn, and the median of several turns. */

import { median } from '../measure.ts';

const WARM_MS = 300;
const TURN_MS = 60;
const TURNS = 9;

export interface MicroCase {
  name: string;
  /** Bytes that it reads or writes, for a throughput. */
  bytes?: number;
  run(): unknown;
}

export interface MicroResult {
  name: string;
  nanoseconds: number;
  megabytesPerSecond?: number;
}

/** Keeps the compiler from dropping work without a use. */
let sink: unknown;

export function measureCase({ name, bytes, run }: MicroCase): MicroResult {
  const first = turn(run, 1, WARM_MS);
  const count = Math.max(1, Math.round((first.count * TURN_MS) / first.milliseconds));
  const times = Array.from({ length: TURNS }, () => {
    const { count: done, milliseconds } = turn(run, count, 0);
    return (milliseconds * 1e6) / done;
  });
  const nanoseconds = median(times);
  return { name, nanoseconds, ...(bytes !== undefined && { megabytesPerSecond: (bytes * 1000) / nanoseconds }) };
}

/** At least so many runs, and for at least so long. */
function turn(run: () => unknown, least: number, milliseconds: number): { count: number; milliseconds: number } {
  const began = performance.now();
  let count = 0;
  while (count < least || performance.now() - began < milliseconds) {
    sink = run();
    count++;
  }
  return { count, milliseconds: performance.now() - began + (sink === began ? 1 : 0) };
}
