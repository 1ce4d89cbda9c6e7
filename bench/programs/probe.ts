/**
 * Preload of a measured gateway: tells the benchmark how long its event loop was blocked, and ends the gateway with the
 * benchmark. Costs nothing until it is asked.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const RESOLUTION_MS = 1;

if (isMainThread && process.channel) {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  process.on('message', (message) => {
    if (message === 'begin') {
      histogram.reset();
      histogram.enable();
      process.send?.('begun');
    }
    if (message === 'end') {
      histogram.disable();
      process.send?.({
        p99: histogram.percentile(99) / 1e6 - RESOLUTION_MS,
        max: histogram.max / 1e6 - RESOLUTION_MS,
      });
    }
  });
  process.on('disconnect', () => process.exit(0));
  process.channel.unref();
}
