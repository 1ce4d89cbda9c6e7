/** Large requests: processor time per answer, and the longest time that one of them holds the event loop. */

import { type Figure, figure } from '../figure.ts';
import { alternate, type Entry, median, warmUp } from '../measure.ts';
import { large, medium, type Workload } from '../workload.ts';
import { costFigures, type Row, type Run } from './row.ts';

const CONNECTIONS = { [medium.id]: 16, [large.id]: 2 };
const WARM_SECONDS = 6;
const WINDOW_SECONDS = 2;
const ROUNDS = 4;

export const largeRows: readonly Row[] = [medium, large].map((workload) => ({
  id: workload.id,
  title: workload.title,
  run: (run) => measureLarge(run, workload),
}));

async function measureLarge(run: Run, workload: Workload): Promise<Figure[]> {
  const connections = CONNECTIONS[workload.id] ?? 1;
  const blocks: number[] = [];
  const { strict } = run;
  const entries: Entry[] = [
    ...run.references.map((subject) => ({ subject, workload })),
    {
      ...{ subject: strict, workload },
      onWindow: {
        begin: async () => void (await strict.probe?.('begin')),
        async end() {
          const delays = (await strict.probe?.('end')) as { max: number } | undefined;
          if (delays) blocks.push(delays.max);
        },
      },
    },
  ];
  run.say('warming up');
  for (const entry of entries) await warmUp(entry, { connections, seconds: WARM_SECONDS * run.scale });
  run.say('windows');
  const costs = await alternate(entries, {
    ...{ rounds: Math.max(2, Math.round(ROUNDS * run.scale)), connections, seconds: WINDOW_SECONDS },
  });
  return [
    ...costFigures(workload.id, 'cpu warm', costs),
    figure({ row: workload.id, subject: 'strict', metric: 'longest block', value: median(blocks), unit: 'ms' }),
  ];
}
