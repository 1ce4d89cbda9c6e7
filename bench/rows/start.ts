/** Time and processor time from the start of the program until it listens, with an empty store and a warm compile cache. */

import { type Figure, figure } from '../figure.ts';
import { processorTime } from '../host/proc.ts';
import { median } from '../measure.ts';
import { startBare } from '../subjects/bare.ts';
import { startPolygate } from '../subjects/polygate.ts';
import type { Subject } from '../subjects/subject.ts';
import type { Row, Run } from './row.ts';

const STARTS = 5;

export const startRow: Row = { id: 'start', title: 'start to ready', run: measureStart };

async function measureStart({ upstreams, scale }: Run): Promise<Figure[]> {
  const starts = Math.max(3, Math.round(STARTS * scale));
  const bare = await medianStart(() => startBare(upstreams), starts);
  const strict = await medianStart(() => startPolygate({ name: 'strict', upstreams, withProbe: false }), starts);
  return [
    figure({ row: 'start', metric: 'ready', unit: 'ms', subject: 'bare', value: bare.ready, toBare: 1 }),
    figure({ row: 'start', metric: 'cpu', unit: 'ms', subject: 'bare', value: bare.cpu, toBare: 1 }),
    figure({ row: 'start', metric: 'ready', unit: 'ms', subject: 'strict', ...compared(strict.ready, bare.ready) }),
    figure({ row: 'start', metric: 'cpu', unit: 'ms', subject: 'strict', ...compared(strict.cpu, bare.cpu) }),
  ];
}

const compared = (value: number, reference: number) => ({ value, toBare: value / reference });

/** The first start fills the compile cache, and does not count. */
async function medianStart(start: () => Promise<Subject>, starts: number): Promise<{ ready: number; cpu: number }> {
  const times: { ready: number; cpu: number }[] = [];
  for (let attempt = 0; attempt <= starts; attempt++) {
    const subject = await start();
    times.push({ ready: subject.readyAfter, cpu: processorTime(subject.pid) / 1000 });
    await subject.stop();
  }
  const counted = times.slice(1);
  return { ready: median(counted.map(({ ready }) => ready)), cpu: median(counted.map(({ cpu }) => cpu)) };
}
