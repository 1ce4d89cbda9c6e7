/** Large requests: processor time per answer, and the longest time that one of them holds the event loop. */

import { type Figure, figure } from '../figure.ts';
import { alternate, type Entry, median, warmUp } from '../measure.ts';
import type { Subject } from '../subjects/subject.ts';
import { large, medium, type Workload } from '../workload.ts';
import { costFigures, type Row, type Run } from './row.ts';

const CONNECTIONS = { [medium.id]: 16, [large.id]: 2 };
const WARM_SECONDS = 6;
const WINDOW_SECONDS = 2;
const ROUNDS = 3;

export const largeRows: readonly Row[] = [medium, large].map((workload) => ({
  id: workload.id,
  title: workload.title,
  run: (run) => measureLarge(run, workload),
}));

async function measureLarge(run: Run, workload: Workload): Promise<Figure[]> {
  const connections = CONNECTIONS[workload.id] ?? 1;
  const entries = [...run.references, run.strict, ...run.against].map((subject) => observed(subject, workload));
  run.say('warming up');
  for (const { entry } of entries) await warmUp(entry, { connections, seconds: WARM_SECONDS * run.scale });
  run.say('windows');
  const costs = await alternate(
    entries.map(({ entry }) => entry),
    { rounds: Math.max(2, Math.round(ROUNDS * run.scale)), connections, seconds: WINDOW_SECONDS },
  );
  const blocks = entries.flatMap(({ entry: { subject }, longest }) =>
    longest.length === 0
      ? []
      : [
          figure({
            row: workload.id,
            subject: subject.name,
            metric: 'longest block',
            value: median(longest),
            unit: 'ms',
          }),
        ],
  );
  return [...costFigures(workload.id, 'cpu warm', costs), ...blocks];
}

/** With the longest block of the event loop in each window, where the subject has a probe. */
function observed(subject: Subject, workload: Workload): { entry: Entry; longest: number[] } {
  const longest: number[] = [];
  const { probe } = subject;
  const onWindow = probe && {
    begin: async () => void (await probe('begin')),
    end: async () => void longest.push(((await probe('end')) as { max: number }).max),
  };
  return { entry: { subject, workload, ...(onWindow && { onWindow }) }, longest };
}
