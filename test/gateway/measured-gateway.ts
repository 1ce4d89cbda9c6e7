/** A gateway in a process of its own that says on demand how long its event loop was held up, and its largest memory. */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { startTestGateway } from './harness.ts';

const gateway = await startTestGateway(process.argv[2]);
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();

process.on('message', (order) => {
  if (order === 'reset') delay.reset();
  process.send?.({ milliseconds: delay.max / 1e6, maxRssBytes: process.resourceUsage().maxRSS * 1024 });
});
process.on('disconnect', () => process.exit());
process.send?.({ url: gateway.url });
