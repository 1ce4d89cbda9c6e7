/** Resident memory: idle, and of the gateway that has served all rows before this one. */

import { type Figure, figure } from '../figure.ts';
import { delay } from '../host/children.ts';
import { residentMemory } from '../host/proc.ts';
import { warmUp } from '../measure.ts';
import { startBare } from '../subjects/bare.ts';
import { startPolygate } from '../subjects/polygate.ts';
import type { Subject } from '../subjects/subject.ts';
import { frames, large, messagesToChat, passthrough } from '../workload.ts';
import type { Row, Run } from './row.ts';

const SETTLE_MS = 3000;
/** A subject that has answered fewer gets a load of its own: this row runs without the others. */
const LOADED_REQUESTS = 5000;
const LOADS = [
  { workload: passthrough, connections: 32, requests: 20_000, seconds: 20 },
  { workload: messagesToChat, connections: 32, requests: 5000, seconds: 8 },
  { workload: large, connections: 2, requests: 40, seconds: 8 },
  { workload: frames, connections: 64, requests: 128, seconds: 8 },
];

const PEER_LOAD = { connections: 32, requests: 20_000, seconds: 10 };

export const memoryRow: Row = { id: 'memory', title: 'resident memory', run: measureMemory };

async function measureMemory(run: Run): Promise<Figure[]> {
  const { upstreams } = run;
  const fresh = [await startBare(upstreams), await startPolygate({ name: 'strict', upstreams, withProbe: false })];
  await delay(SETTLE_MS);
  const idle = fresh.map(({ name, pid }) =>
    figure({ row: 'memory', subject: name, metric: 'idle', value: residentMemory(pid) / 1e6, unit: 'MB' }),
  );
  for (const subject of fresh) await subject.stop();
  const subjects = [...run.references, run.strict, ...run.against];
  for (const subject of subjects) await loadAlone(subject);
  const loaded = subjects.map(({ name, pid, answered }) =>
    figure({
      ...{ row: 'memory', subject: name, metric: 'after load' },
      ...{ value: residentMemory(pid) / 1e6, unit: 'MB', after: answered },
    }),
  );
  return [...idle, ...loaded, ...(await measurePeers(run))];
}

/** Other gateways: idle, and after whole answers alone. */
async function measurePeers({ peers, scale, say }: Run): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const { name, start } of peers) {
    const subject = await start(passthrough).catch((error) => say(`${name} does not run: ${error.message}`));
    if (!subject) continue;
    try {
      await delay(SETTLE_MS);
      const common = { row: 'memory', subject: name, unit: 'MB' };
      figures.push(figure({ ...common, metric: 'idle', value: residentMemory(subject.pid) / 1e6 }));
      await warmUp({ subject, workload: passthrough }, { ...PEER_LOAD, seconds: PEER_LOAD.seconds * scale });
      const after = subject.answered;
      figures.push(figure({ ...common, metric: 'after load', value: residentMemory(subject.pid) / 1e6, after }));
    } finally {
      await subject.stop();
    }
  }
  return figures;
}

async function loadAlone(subject: Subject): Promise<void> {
  if (subject.answered >= LOADED_REQUESTS) return;
  for (const { workload, ...load } of LOADS) await warmUp({ subject, workload }, load);
}
