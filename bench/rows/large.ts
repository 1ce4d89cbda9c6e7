/** Large requests: processor time per answer, and the longest turn of the event loop, by processor time and by the clock. */

import { type Figure, figure } from '../figure.ts';
import { alternate, type Entry, median, needsWarmUp, WARM, warmUp } from '../measure.ts';
import type { LongestTurns } from '../programs/probe.ts';
import type { Subject } from '../subjects/subject.ts';
import { large, medium, type Workload } from '../workload.ts';
import { costFigures, type Row, type Run } from './row.ts';

const CONNECTIONS = { [medium.id]: 16, [large.id]: 2 };
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
  const load = { connections, requests: WARM.requests, seconds: WARM.seconds * run.scale };
  for (const { entry } of entries) if (needsWarmUp(entry)) await warmUp(entry, load);
  run.say('windows');
  const costs = await alternate(
    entries.map(({ entry }) => entry),
    { rounds: Math.max(2, Math.round(ROUNDS * run.scale)), connections, seconds: WINDOW_SECONDS },
  );
  const blocks = entries.flatMap(({ entry: { subject }, longest }) =>
    longest.length === 0
      ? []
      : [
          blockFigure(
            workload,
            subject,
            'longest block',
            longest.map(({ processor }) => processor),
          ),
          blockFigure(
            workload,
            subject,
            'longest delay',
            longest.map(({ delay }) => delay),
          ),
        ],
  );
  return [...costFigures(workload.id, 'cpu warm', costs), ...blocks];
}

function blockFigure(workload: Workload, subject: Subject, metric: string, values: readonly number[]): Figure {
  return figure({ row: workload.id, subject: subject.name, metric, value: median(values), unit: 'ms' });
}

/** With the longest turns of the event loop in each window, where the subject has a probe. */
function observed(subject: Subject, workload: Workload): { entry: Entry; longest: LongestTurns[] } {
  const longest: LongestTurns[] = [];
  const { probe } = subject;
  const onWindow = probe && {
    begin: async () => void (await probe('begin')),
    end: async () => void longest.push((await probe('end')) as unknown as LongestTurns),
  };
  return { entry: { subject, workload, ...(onWindow && { onWindow }) }, longest };
}
