/** A gateway in a process of its own that measures how long its event loop was held and how much memory it took. */

import { startTestGateway } from '../gateway/harness.ts';
import type { Measured, Order, Started } from './loop-measure.ts';

const TICK_MS = 1;
const MICROSECONDS_PER_MS = 1000;
/** What parsing the sample takes on the machine that the bounds were set on. */
const REFERENCE_MS = 8;

const gateway = await startTestGateway(process.argv[2]);
let holdMs = 0;
let peakBytes = 0;
let base = 0;
let before = process.threadCpuUsage();

/**
 * The CPU time of this thread between two ticks, not the wall time: what other processes take of a busy machine is not
 * held by anyone here. The collection of garbage on this thread counts.
 */
setInterval(() => {
  const { user, system } = process.threadCpuUsage(before);
  holdMs = Math.max(holdMs, (user + system) / MICROSECONDS_PER_MS);
  before = process.threadCpuUsage();
  peakBytes = Math.max(peakBytes, usedBytes());
}, TICK_MS);

process.on('message', (order: Order) => {
  const [held, peak] = [holdMs, peakBytes];
  if (order === 'reset') {
    global.gc?.();
    base = usedBytes();
    holdMs = 0;
    peakBytes = base;
    before = process.threadCpuUsage();
    process.send?.({});
    return;
  }
  // Now, as others share the caches and the clock of the processor more or less from moment to moment.
  const slowness = Math.max(1, calibrate() / REFERENCE_MS);
  const measured: Measured = { holdMs: held / slowness, bytes: peak - base };
  process.send?.(measured);
});
process.on('disconnect', () => process.exit());
const started: Started = { url: gateway.url, adminUrl: gateway.adminUrl };
process.send?.(started);

function usedBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Milliseconds of CPU for a fixed piece of work, the least of some tries. */
function calibrate(): number {
  const text = JSON.stringify(Array.from({ length: 50_000 }, (_, index) => ({ index, text: `t${index}` })));
  const times = Array.from({ length: 3 }, () => {
    const start = process.threadCpuUsage();
    JSON.parse(text);
    const { user, system } = process.threadCpuUsage(start);
    return (user + system) / MICROSECONDS_PER_MS;
  });
  return Math.min(...times);
}
