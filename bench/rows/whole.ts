/** Whole answers of about 1.2 kB: processor time per answer, cold and warm, for each path of a request. */

import { type Figure, figure } from '../figure.ts';
import { bytesWritten } from '../host/proc.ts';
import { alternate, type Entry, measureWindow, WARM, warmUp } from '../measure.ts';
import { startBare } from '../subjects/bare.ts';
import { hasNginx, startNginx } from '../subjects/nginx.ts';
import { startPolygate } from '../subjects/polygate.ts';
import type { Subject } from '../subjects/subject.ts';
import { chatToMessages, messagesToChat, passthrough, patched, type Workload } from '../workload.ts';
import { costFigures, type Row, type Run } from './row.ts';

const CONNECTIONS = 32;
/** Answers after a start that count as cold. */
const COLD_REQUESTS = 4000;
const COLD_SECONDS = 12;
/** Share of these for other gateways. */
const PEER_SHARE = 0.4;
const WINDOW_SECONDS = 1.5;
const ROUNDS = 4;

export const wholeRows: readonly Row[] = [passthrough, patched, messagesToChat, chatToMessages].map((workload) => ({
  id: workload.id,
  title: workload.title,
  run: (run) => measureWhole(run, workload),
}));

async function measureWhole(run: Run, workload: Workload): Promise<Figure[]> {
  const isFirst = workload === passthrough;
  const cold = await measureCold(run, workload);
  const peers: Subject[] = [];
  try {
    if (isFirst) peers.push(...(await startPeers(run)));
    const subjects = [
      ...run.references,
      run.strict,
      ...run.against,
      ...(isFirst ? [await run.batched(), ...peers] : []),
    ];
    const entries = subjects.map((subject): Entry => ({ subject, workload }));
    const isPeer = ({ subject }: Entry) => peers.includes(subject);
    const own = entries.filter((entry) => !isPeer(entry));
    await warm(run, own);
    await warm(run, entries.filter(isPeer), PEER_SHARE);
    run.say('warm windows');
    const before = { bytes: bytesWritten(run.strict.pid), answered: run.strict.answered };
    const costs = await alternate(entries, {
      ...{ rounds: Math.max(2, Math.round(ROUNDS * run.scale)), connections: CONNECTIONS, seconds: WINDOW_SECONDS },
    });
    const written = (bytesWritten(run.strict.pid) - before.bytes) / (run.strict.answered - before.answered) / 1024;
    return [
      ...cold,
      ...costFigures(workload.id, 'cpu warm', costs),
      figure({ row: workload.id, subject: 'strict', metric: 'written', value: written, unit: 'KiB' }),
    ];
  } finally {
    for (const peer of peers) await peer.stop();
  }
}

async function startPeers(run: Run): Promise<Subject[]> {
  const started: Subject[] = [];
  for (const { name, start } of run.peers) {
    try {
      started.push(await start());
    } catch (error) {
      run.say(`${name} does not run: ${(error as Error).message}`);
    }
  }
  return started;
}

/** Each in a process of its own, from its start. */
async function measureCold({ upstreams, peers, scale, say }: Run, workload: Workload): Promise<Figure[]> {
  const starters: { name: string; start(): Promise<Subject> }[] = [
    ...(hasNginx ? [{ name: 'nginx', start: () => startNginx(upstreams) }] : []),
    { name: 'bare', start: () => startBare(upstreams) },
    { name: 'strict', start: () => startPolygate({ name: 'strict', upstreams }) },
    ...(workload === passthrough
      ? [
          {
            name: 'batched',
            start: () => startPolygate({ name: 'batched', upstreams, durability: 'batched' as const }),
          },
          ...peers,
        ]
      : []),
  ];
  const measured: { name: string; cpu: number; rate: number; count: number }[] = [];
  for (const { name, start } of starters) {
    say(`${name}, cold`);
    const subject = await start().catch((error) => say(`${name} does not run: ${error.message}`));
    if (!subject) continue;
    try {
      const target = subject.target(workload);
      const load = { connections: CONNECTIONS, requests: COLD_REQUESTS, seconds: COLD_SECONDS * Math.max(0.5, scale) };
      const window = target && (await measureWindow(subject, target, load));
      if (window) measured.push({ name, cpu: window.cpu, rate: window.rate, count: window.ok });
    } finally {
      await subject.stop();
    }
  }
  const costOf = (name: string) => measured.find((one) => one.name === name)?.cpu;
  return measured.map(({ name, cpu, rate, count }) => {
    const [nginx, bare] = [costOf('nginx'), costOf('bare')];
    return figure({
      ...{ row: workload.id, subject: name, metric: 'cpu cold', value: cpu, unit: 'us', answersPerSecond: rate },
      ...(nginx !== undefined && { toNginx: cpu / nginx }),
      ...(bare !== undefined && { toBare: cpu / bare }),
      ...(count < COLD_REQUESTS && { note: `the first ${count} answers` }),
    });
  });
}

async function warm(run: Run, entries: readonly Entry[], share = 1): Promise<void> {
  for (const entry of entries) {
    run.say(`${entry.subject.name}, warming up`);
    const load = {
      connections: CONNECTIONS,
      requests: WARM.requests * share,
      seconds: WARM.seconds * share * run.scale,
    };
    await warmUp(entry, load);
  }
}
