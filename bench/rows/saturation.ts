/** Latency at two thirds of the rate at which a gateway is saturated: strict and batched durability on the same disk. */

import { type Figure, figure } from '../figure.ts';
import { openLoop } from '../load/open-loop.ts';
import { measureWindow, median, warmTo } from '../measure.ts';
import { passthrough } from '../workload.ts';
import type { Row, Run } from './row.ts';

const CONNECTIONS = 32;
const WARM_REQUESTS = 10_000;
const WARM_SECONDS = 8;
const SATURATED_SECONDS = 2;
const SECONDS = 4;
const ROUNDS = 2;

export const saturationRow: Row = {
  id: 'saturation',
  title: `latency at 2/3 of saturation, ${CONNECTIONS} connections`,
  run: measureSaturation,
};

async function measureSaturation(run: Run): Promise<Figure[]> {
  const figures: Figure[] = [];
  const bare = run.references.find(({ name }) => name === 'bare');
  const subjects = [bare, run.strict, await run.batched(), ...run.against].filter((subject) => subject !== undefined);
  const entries = subjects.map((subject) => ({ subject, workload: passthrough }));
  await warmTo(WARM_REQUESTS, entries, { connections: CONNECTIONS, seconds: WARM_SECONDS * run.scale });
  for (const subject of subjects) {
    run.say(subject.name);
    const target = subject.target(passthrough);
    if (!target) continue;
    const rates: number[] = [];
    const windows: { p50: number; p99: number }[] = [];
    for (let round = 0; round < Math.max(1, Math.round(ROUNDS * run.scale)); round++) {
      const saturated = await measureWindow(subject, target, { connections: CONNECTIONS, seconds: SATURATED_SECONDS });
      const rate = ((saturated?.rate ?? 0) * 2) / 3;
      rates.push(rate);
      windows.push(await openLoop(target, { rate, connections: CONNECTIONS, seconds: SECONDS }));
    }
    for (const metric of ['p50', 'p99'] as const) {
      const value = median(windows.map((window) => window[metric]));
      const answersPerSecond = median(rates);
      figures.push(figure({ row: 'saturation', subject: subject.name, metric, value, unit: 'ms', answersPerSecond }));
    }
  }
  return figures;
}
