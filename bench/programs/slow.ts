/** Preload that makes a gateway slower by `BENCH_SLOW_US` a request; it shows that the check notices. */

import { subscribe } from 'node:diagnostics_channel';
import { isMainThread } from 'node:worker_threads';

const microseconds = Number(process.env.BENCH_SLOW_US);

if (isMainThread) {
  subscribe('http.server.request.start', () => {
    const end = performance.now() + microseconds / 1000;
    while (performance.now() < end);
  });
}
