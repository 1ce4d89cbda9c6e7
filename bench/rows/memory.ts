/** Resident memory: idle, and of the gateway that has served all rows before this one. */

import { type Figure, figure } from '../figure.ts';
import { delay } from '../host/children.ts';
import { residentMemory } from '../host/proc.ts';
import { startBare } from '../subjects/bare.ts';
import { startPolygate } from '../subjects/polygate.ts';
import type { Row, Run } from './row.ts';

const SETTLE_MS = 3000;

export const memoryRow: Row = { id: 'memory', title: 'resident memory', run: measureMemory };

async function measureMemory(run: Run): Promise<Figure[]> {
  const { upstreams } = run;
  const fresh = [await startBare(upstreams), await startPolygate({ name: 'strict', upstreams })];
  await delay(SETTLE_MS);
  const idle = fresh.map(({ name, pid }) =>
    figure({ row: 'memory', subject: name, metric: 'idle', value: residentMemory(pid) / 1e6, unit: 'MB' }),
  );
  for (const subject of fresh) await subject.stop();
  const loaded = [...run.references, run.strict, ...run.against].map(({ name, pid, answered }) =>
    figure({
      ...{ row: 'memory', subject: name, metric: 'after load' },
      ...{ value: residentMemory(pid) / 1e6, unit: 'MB', after: answered },
    }),
  );
  return [...idle, ...loaded];
}
