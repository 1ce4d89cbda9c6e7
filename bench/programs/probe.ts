/**
 * Preload of a measured gateway: tells the benchmark how long its event loop was held, and ends the gateway with the
 * benchmark. Costs nothing until it is asked.
 */

import { isMainThread } from 'node:worker_threads';

const RESOLUTION_MS = 1;
const SHORTEST_WAIT_MS = 0.01;
const neverNotified = new Int32Array(new SharedArrayBuffer(4));

/** In milliseconds, between two ticks of a timer: the time that passed beyond its interval, and the main thread's processor time. */
export interface LongestTurns {
  delay: number;
  processor: number;
}

if (isMainThread && process.channel) {
  const longest: LongestTurns = { delay: 0, processor: 0 };
  let timer: NodeJS.Timeout | undefined;
  let ticked = 0;
  let used = 0;

  function restart(): void {
    ticked = performance.now();
    used = ownProcessorTime();
  }

  function tick(): void {
    longest.delay = Math.max(longest.delay, performance.now() - ticked - RESOLUTION_MS);
    longest.processor = Math.max(longest.processor, ownProcessorTime() - used);
    restart();
  }

  process.on('message', (message) => {
    if (message === 'begin') {
      Object.assign(longest, { delay: 0, processor: 0 });
      restart();
      timer = setInterval(tick, RESOLUTION_MS);
      process.send?.('begun');
    }
    if (message === 'end') {
      tick();
      clearInterval(timer);
      process.send?.(longest);
    }
  });
  process.on('disconnect', () => process.exit(0));
  process.channel.unref();
}

/** Of this thread, in milliseconds. The kernel counts the time of a thread when that waits, and else only at each tick of its own. */
function ownProcessorTime(): number {
  Atomics.wait(neverNotified, 0, 0, SHORTEST_WAIT_MS);
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
