/** Whole answers for a key with limits and budgets: their share of the processor time, beside a key without any. */

import { type Figure, figure } from '../figure.ts';
import { measureWindow, median, WARM, warmUp } from '../measure.ts';
import { limited, priced } from '../workload.ts';
import type { Row, Run } from './row.ts';

const CONNECTIONS = 32;
const WINDOW_SECONDS = 1.5;
const ROUNDS = 6;

export const limitedRow: Row = { id: limited.id, title: limited.title, isLong: true, run: measureLimited };

async function measureLimited(run: Run): Promise<Figure[]> {
  const subject = run.strict;
  const entries = [priced, limited].map((workload) => ({ subject, workload }));
  for (const entry of entries)
    await warmUp(entry, { connections: CONNECTIONS, requests: WARM.requests, seconds: WARM.seconds * run.scale });
  const windows: { limited: number; priced: number }[] = [];
  for (let round = 0; round < Math.max(2, Math.round(ROUNDS * run.scale)); round++) {
    const cpuOf = async (workload: typeof limited) => {
      const target = subject.target(workload);
      return (
        target && (await measureWindow(subject, target, { connections: CONNECTIONS, seconds: WINDOW_SECONDS }))?.cpu
      );
    };
    const [without, withLimits] = [await cpuOf(priced), await cpuOf(limited)];
    if (without !== undefined && withLimits !== undefined) windows.push({ limited: withLimits, priced: without });
  }
  const of = (value: (window: (typeof windows)[number]) => number) => median(windows.map(value));
  const common = { row: limited.id, subject: 'strict' };
  return [
    figure({ ...common, metric: 'cpu without limits', value: of((window) => window.priced), unit: 'us' }),
    figure({ ...common, metric: 'cpu with limits', value: of((window) => window.limited), unit: 'us' }),
    figure({ ...common, metric: 'by that without', value: of((window) => window.limited / window.priced), unit: 'x' }),
  ];
}
