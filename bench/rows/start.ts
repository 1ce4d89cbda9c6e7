/** Time from the start of the program until it listens, with an empty store and a warm compile cache. */

import { type Figure, figure } from '../figure.ts';
import { median } from '../measure.ts';
import { startBare } from '../subjects/bare.ts';
import { startPolygate } from '../subjects/polygate.ts';
import type { Subject } from '../subjects/subject.ts';
import type { Row, Run } from './row.ts';

const STARTS = 5;

export const startRow: Row = { id: 'start', title: 'start to ready', run: measureStart };

async function measureStart({ upstreams, scale }: Run): Promise<Figure[]> {
  const bare = await medianStart(() => startBare(upstreams), scale);
  const strict = await medianStart(() => startPolygate({ name: 'strict', upstreams, withProbe: false }), scale);
  const common = { row: 'start', metric: 'ready', unit: 'ms' };
  return [
    figure({ ...common, subject: 'bare', value: bare, toBare: 1 }),
    figure({ ...common, subject: 'strict', value: strict, toBare: strict / bare }),
  ];
}

/** The first start fills the compile cache, and does not count. */
async function medianStart(start: () => Promise<Subject>, scale: number): Promise<number> {
  const times: number[] = [];
  for (let attempt = 0; attempt <= Math.max(3, Math.round(STARTS * scale)); attempt++) {
    const subject = await start();
    times.push(subject.readyAfter);
    await subject.stop();
  }
  return median(times.slice(1));
}
