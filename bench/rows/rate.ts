/** Latency and processor time at a fixed rate, far below saturation: every request pays for its own wake-ups. */

import { type Figure, figure } from '../figure.ts';
import { processorTime } from '../host/proc.ts';
import { type Latencies, openLoop } from '../load/open-loop.ts';
import { median, warmTo } from '../measure.ts';
import type { Subject } from '../subjects/subject.ts';
import { passthrough } from '../workload.ts';
import { alternateInRounds, type Row, type Run } from './row.ts';

const RATES = [100, 500];
const CONNECTIONS = 16;
const SECONDS = 4;
const ROUNDS = 2;
const WARM_REQUESTS = 10_000;
const WARM_SECONDS = 8;

export const rateRows: readonly Row[] = RATES.map((rate) => ({
  id: `rate-${rate}`,
  title: `${rate} requests/s, ${CONNECTIONS} connections`,
  run: (run) => measureRate(run, rate),
}));

type Window = Latencies & { cpu: number };

async function measureRate(run: Run, rate: number): Promise<Figure[]> {
  const subjects = [...run.references, run.strict, await run.batched(), ...run.against];
  run.say('warming up');
  const entries = subjects.map((subject) => ({ subject, workload: passthrough }));
  await warmTo(WARM_REQUESTS, entries, { connections: CONNECTIONS, seconds: WARM_SECONDS * run.scale });
  const windows = await alternateInRounds(run, { subjects, rounds: ROUNDS }, async (subject, target) => {
    const before = processorTime(subject.pid);
    const latencies = await openLoop(target, { rate, connections: CONNECTIONS, seconds: SECONDS });
    subject.answered += latencies.ok;
    return { ...latencies, cpu: (processorTime(subject.pid) - before) / latencies.ok };
  });
  const of = (subject: Subject | undefined, field: keyof Window) =>
    subject && median((windows.get(subject) ?? []).map((window) => window[field]));
  const [nginx, bare] = ['nginx', 'bare'].map((name) => subjects.find((subject) => subject.name === name));
  return subjects.flatMap((subject) =>
    (['p50', 'p99', 'cpu'] as const).map((metric) => {
      const value = of(subject, metric) ?? 0;
      const [toNginx, toBare] = [nginx, bare].map((reference) => reference && value / (of(reference, metric) ?? 1));
      const unit = metric === 'cpu' ? 'us' : 'ms';
      return figure({ row: `rate-${rate}`, subject: subject.name, metric, value, unit, toNginx, toBare });
    }),
  );
}
