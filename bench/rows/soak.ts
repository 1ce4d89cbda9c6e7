/** Resident memory of a gateway under a steady load of ten minutes. */

import { type Figure, figure } from '../figure.ts';
import { residentMemory } from '../host/proc.ts';
import { openLoop } from '../load/open-loop.ts';
import { passthrough } from '../workload.ts';
import type { Row, Run } from './row.ts';

const MINUTES = 10;
const RATE = 200;
const CONNECTIONS = 32;

export const soakRow: Row = { id: 'soak', title: `memory over ${MINUTES} minutes`, isLong: true, run: measureSoak };

async function measureSoak({ strict, say }: Run): Promise<Figure[]> {
  const figures: Figure[] = [];
  const target = strict.target(passthrough);
  if (!target) return figures;
  for (let minute = 1; minute <= MINUTES; minute++) {
    say(`minute ${minute}`);
    strict.answered += (await openLoop(target, { rate: RATE, connections: CONNECTIONS, seconds: 60 })).ok;
    const value = residentMemory(strict.pid) / 1e6;
    figures.push(
      figure({ row: 'soak', subject: 'strict', metric: `minute ${minute}`, value, unit: 'MB', after: strict.answered }),
    );
  }
  return figures;
}
