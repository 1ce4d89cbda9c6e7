/**
 * What the trace of requests costs when nobody looks: processor time of a request with and without it, in alternation. One process
 * is measured, whose setting changes between windows: of two processes one may be compiled to faster code than the other.
 */

import { measureWindow, median, WARM, warmTo } from '../measure.ts';
import { startPolygate } from '../subjects/polygate.ts';
import { startUpstreams } from '../subjects/upstreams.ts';
import { passthrough } from '../workload.ts';
import type { BudgetLine } from './budget-line.ts';

const CONNECTIONS = 32;
/** Until connections are open again, after a change of the configuration. */
const SETTLE_SECONDS = 0.4;
const WINDOW_SECONDS = 1;
/** The two windows of a round differ by up to 10 % by chance. */
const ROUNDS = 80;
const MOST_PERCENT = 3;

export async function measureTraceCost(say: (text: string) => void): Promise<BudgetLine> {
  const upstreams = await startUpstreams();
  const subject = await startPolygate({ name: 'trace', upstreams });
  try {
    const target = subject.target(passthrough);
    if (!target) throw new Error('the gateway has no target');
    say('trace: warming up');
    const load = { connections: CONNECTIONS, seconds: WARM.seconds };
    await warmTo(WARM.requests, [{ subject, workload: passthrough }], load);
    say('trace: windows');
    const cost = async (trace: 'all' | 'none'): Promise<number> => {
      await subject.configure({ trace });
      await measureWindow(subject, target, { connections: CONNECTIONS, seconds: SETTLE_SECONDS });
      const window = await measureWindow(subject, target, { connections: CONNECTIONS, seconds: WINDOW_SECONDS });
      if (!window) throw new Error('a window failed');
      return window.cpu;
    };
    const rounds: Record<'all' | 'none', number>[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      // Neither is always the first.
      const costs = { all: 0, none: 0 };
      for (const trace of round % 2 === 0 ? (['all', 'none'] as const) : (['none', 'all'] as const))
        costs[trace] = await cost(trace);
      rounds.push(costs);
    }
    const [all, none] = [median(rounds.map((costs) => costs.all)), median(rounds.map((costs) => costs.none))];
    const ratios = rounds.map((costs) => costs.all / costs.none).sort((one, other) => one - other);
    const middle = ratios.slice(ROUNDS / 4, (3 * ROUNDS) / 4);
    const deviation = (ratios[Math.ceil(ROUNDS * 0.84)] as number) - (ratios[Math.floor(ROUNDS * 0.16)] as number);
    const error = (100 * deviation) / 2 / Math.sqrt(ROUNDS);
    return {
      what: 'trace of a request, of its processor time',
      value: 100 * (middle.reduce((sum, ratio) => sum + ratio, 0) / middle.length - 1),
      most: MOST_PERCENT,
      unit: '%',
      note: `${all.toFixed(0)} us with it, ${none.toFixed(0)} us without, medians of ${ROUNDS} windows; standard error ${error.toFixed(1)} %`,
    };
  } finally {
    await subject.stop();
    await upstreams.stop();
  }
}
