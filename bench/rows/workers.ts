/**
 * One worker against two: answers per second and processor time per answer, each alone on all cores with the load; and one
 * worker with the load on one core, which is what the second core is worth.
 */

import { type Figure, figure } from '../figure.ts';
import { canPin, onOneProcessor } from '../host/affinity.ts';
import { type Entry, measureWindow, median, WARM, type Window, warmTo } from '../measure.ts';
import { startPolygate } from '../subjects/polygate.ts';
import { passthrough } from '../workload.ts';
import type { Row, Run } from './row.ts';

/** Enough that no worker waits for a request. */
const CONNECTIONS = 128;
const WINDOW_SECONDS = 2;
const ROUNDS = 5;

export const workersRow: Row = { id: 'workers', title: 'one worker and two, 128 connections', run: measureWorkers };

interface Round {
  one: Window;
  two: Window;
  /** Absent where programs cannot be held to one core. */
  onOneCore: Window | undefined;
}

async function measureWorkers(run: Run): Promise<Figure[]> {
  const two = await startPolygate({
    ...{ name: 'two workers', upstreams: run.upstreams, withProbe: false },
    options: ['--workers', '2'],
  });
  const pins = canPin();
  if (!pins) run.say('no figure of one core: there is one processor alone, or no taskset');
  try {
    const entries = [run.strict, two].map((subject): Entry => ({ subject, workload: passthrough }));
    run.say('warming up');
    await warmTo(WARM.requests, entries, { connections: CONNECTIONS, seconds: WARM.seconds * run.scale });
    const rounds: Round[] = [];
    for (let round = 0; round < Math.max(3, Math.round(ROUNDS * run.scale)); round++) {
      const onOneCore = pins ? await onOneProcessor(() => windowOf(entries[0])) : undefined;
      const [one, other] = [await windowOf(entries[0]), await windowOf(entries[1])];
      if (one && other) rounds.push({ one, two: other, onOneCore });
    }
    return figuresOf(rounds);
  } finally {
    await two.stop();
  }
}

function figuresOf(rounds: readonly Round[]): Figure[] {
  const row = 'workers';
  const of = (subject: string, metric: string, unit: string, value: (round: Round) => number) =>
    figure({ row, subject, metric, unit, value: median(rounds.map(value)) });
  const pinned = rounds.filter(({ onOneCore }) => onOneCore !== undefined) as (Round & { onOneCore: Window })[];
  const ofCores = (subject: string, metric: string, unit: string, value: (round: (typeof pinned)[number]) => number) =>
    pinned.length === 0 ? [] : [figure({ row, subject, metric, unit, value: median(pinned.map(value)) })];
  return [
    ...ofCores('strict', 'rate on one core', '/s', ({ onOneCore }) => onOneCore.rate),
    of('strict', 'rate', '/s', ({ one }) => one.rate),
    of('strict', 'cpu', 'us', ({ one }) => one.cpu),
    of('two workers', 'rate', '/s', ({ two }) => two.rate),
    of('two workers', 'cpu', 'us', ({ two }) => two.cpu),
    of('two workers', 'rate by that of one', 'x', ({ one, two }) => two.rate / one.rate),
    ...ofCores('two workers', 'rate by that on one core', 'x', ({ onOneCore, two }) => two.rate / onOneCore.rate),
  ];
}

async function windowOf(entry: Entry | undefined): Promise<Window | undefined> {
  const target = entry?.subject.target(entry.workload);
  return entry && target && measureWindow(entry.subject, target, { connections: CONNECTIONS, seconds: WINDOW_SECONDS });
}
