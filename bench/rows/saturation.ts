/** Latency at two thirds of the rate at which a gateway is saturated: strict and batched durability on the same disk, in windows that alternate. */

import { type Figure, figure } from '../figure.ts';
import { openLoop } from '../load/open-loop.ts';
import { measureWindow, median, warmTo } from '../measure.ts';
import type { Subject } from '../subjects/subject.ts';
import { passthrough } from '../workload.ts';
import { alternateInRounds, type Row, type Run } from './row.ts';

const CONNECTIONS = 32;
const WARM_REQUESTS = 10_000;
const WARM_SECONDS = 8;
const SATURATED_SECONDS = 2;
const SECONDS = 3;
const ROUNDS = 3;
const METRICS = ['p50', 'p99'] as const;

export const saturationRow: Row = {
  id: 'saturation',
  title: `latency at 2/3 of saturation, ${CONNECTIONS} connections`,
  run: measureSaturation,
};

async function measureSaturation(run: Run): Promise<Figure[]> {
  const bare = run.references.find(({ name }) => name === 'bare');
  const batched = await run.batched();
  const subjects = [bare, run.strict, batched, ...run.against].filter((subject) => subject !== undefined);
  const entries = subjects.map((subject) => ({ subject, workload: passthrough }));
  await warmTo(WARM_REQUESTS, entries, { connections: CONNECTIONS, seconds: WARM_SECONDS * run.scale });
  const windows = await alternateInRounds(run, { subjects, rounds: ROUNDS }, async (subject, target) => {
    const saturated = await measureWindow(subject, target, { connections: CONNECTIONS, seconds: SATURATED_SECONDS });
    const rate = ((saturated?.rate ?? 0) * 2) / 3;
    const latencies = await openLoop(target, { rate, connections: CONNECTIONS, seconds: SECONDS });
    subject.answered += latencies.ok;
    return { ...latencies, rate };
  });
  const of = (subject: Subject, field: 'p50' | 'p99' | 'rate') =>
    (windows.get(subject) ?? []).map((window) => window[field]);
  const latencies = subjects.flatMap((subject) =>
    METRICS.map((metric) =>
      figure({
        ...{ row: 'saturation', subject: subject.name, metric, value: median(of(subject, metric)), unit: 'ms' },
        answersPerSecond: median(of(subject, 'rate')),
      }),
    ),
  );
  const byBatched = METRICS.map((metric) => {
    const others = of(batched, metric);
    const value = median(of(run.strict, metric).map((own, round) => own / (others[round] ?? Number.NaN)));
    return figure({ row: 'saturation', subject: run.strict.name, metric: `${metric} by batched`, value, unit: 'x' });
  });
  return [...latencies, ...byBatched];
}
