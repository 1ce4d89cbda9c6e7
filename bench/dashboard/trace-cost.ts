/** What the trace of requests costs when nobody looks: processor time of a request with and without it, in alternation. */

import { alternate, warmTo } from '../measure.ts';
import { startPolygate } from '../subjects/polygate.ts';
import { startUpstreams } from '../subjects/upstreams.ts';
import { passthrough } from '../workload.ts';
import type { BudgetLine } from './budget-line.ts';

const CONNECTIONS = 32;
const WARM_REQUESTS = 40_000;
const WARM_SECONDS = 20;
const WINDOW_SECONDS = 1.5;
const ROUNDS = 16;
const MOST_PERCENT = 3;

export async function measureTraceCost(say: (text: string) => void): Promise<BudgetLine> {
  const upstreams = await startUpstreams();
  const subjects = [
    await startPolygate({ name: 'trace', upstreams, trace: 'all' }),
    await startPolygate({ name: 'bare', upstreams, trace: 'none' }),
  ];
  try {
    const entries = subjects.map((subject) => ({ subject, workload: passthrough }));
    say('trace: warming up');
    await warmTo(WARM_REQUESTS, entries, { connections: CONNECTIONS, seconds: WARM_SECONDS });
    say('trace: windows');
    const costs = await alternate(entries, { rounds: ROUNDS, connections: CONNECTIONS, seconds: WINDOW_SECONDS });
    const [withTrace, without] = costs;
    return {
      what: 'trace of a request, of its processor time',
      value: 100 * ((withTrace?.toBare ?? Number.NaN) - 1),
      most: MOST_PERCENT,
      unit: '%',
      note: `${withTrace?.cpu.toFixed(0)} us with it, ${without?.cpu.toFixed(0)} us without, medians of ${ROUNDS} windows`,
    };
  } finally {
    for (const subject of subjects) await subject.stop();
    await upstreams.stop();
  }
}
