/** One worker against two: answers per second and processor time per answer, each alone on all cores with the load. */

import { type Figure, figure } from '../figure.ts';
import { type Entry, measureWindow, median, type Window, warmTo } from '../measure.ts';
import { startPolygate } from '../subjects/polygate.ts';
import { passthrough } from '../workload.ts';
import type { Row, Run } from './row.ts';

/** Enough that no worker waits for a request. */
const CONNECTIONS = 128;
const WARM_REQUESTS = 40_000;
const WARM_SECONDS = 20;
const WINDOW_SECONDS = 2;
const ROUNDS = 6;

export const workersRow: Row = { id: 'workers', title: 'one worker and two, 128 connections', run: measureWorkers };

async function measureWorkers(run: Run): Promise<Figure[]> {
  const two = await startPolygate({
    ...{ name: 'two workers', upstreams: run.upstreams, withProbe: false },
    options: ['--workers', '2'],
  });
  try {
    const entries = [run.strict, two].map((subject): Entry => ({ subject, workload: passthrough }));
    run.say('warming up');
    await warmTo(WARM_REQUESTS, entries, { connections: CONNECTIONS, seconds: WARM_SECONDS * run.scale });
    const rounds: { one: Window; two: Window }[] = [];
    for (let round = 0; round < Math.max(3, Math.round(ROUNDS * run.scale)); round++) {
      const [one, other] = [await windowOf(entries[0]), await windowOf(entries[1])];
      if (one && other) rounds.push({ one, two: other });
    }
    const of = (value: (round: (typeof rounds)[number]) => number) => median(rounds.map(value));
    const row = 'workers';
    return [
      figure({ row, subject: 'strict', metric: 'rate', value: of(({ one }) => one.rate), unit: '/s' }),
      figure({ row, subject: 'strict', metric: 'cpu', value: of(({ one }) => one.cpu), unit: 'us' }),
      figure({ row, subject: 'two workers', metric: 'rate', value: of((each) => each.two.rate), unit: '/s' }),
      figure({ row, subject: 'two workers', metric: 'cpu', value: of((each) => each.two.cpu), unit: 'us' }),
      figure({
        ...{ row, subject: 'two workers', metric: 'rate by that of one', unit: 'x' },
        value: of((each) => each.two.rate / each.one.rate),
      }),
    ];
  } finally {
    await two.stop();
  }
}

async function windowOf(entry: Entry | undefined): Promise<Window | undefined> {
  const target = entry?.subject.target(entry.workload);
  return entry && target && measureWindow(entry.subject, target, { connections: CONNECTIONS, seconds: WINDOW_SECONDS });
}
