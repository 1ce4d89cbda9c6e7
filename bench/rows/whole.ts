/** Whole answers of about 1.2 kB: processor time per answer, cold and warm, for each path of a request. */

import { type Figure, figure } from '../figure.ts';
import { bytesWritten } from '../host/proc.ts';
import { alternate, type Cost, type Entry, measureWindow, needsWarmUp, WARM, type Window, warmUp } from '../measure.ts';
import { startBare } from '../subjects/bare.ts';
import { hasNginx, startNginx } from '../subjects/nginx.ts';
import { startPolygate } from '../subjects/polygate.ts';
import type { Subject } from '../subjects/subject.ts';
import { chatToMessages, messagesToChat, passthrough, patched, type Workload } from '../workload.ts';
import { costFigures, type Row, type Run, startPeers } from './row.ts';

const CONNECTIONS = 32;
/** Answers after a start that count as cold. */
const COLD_REQUESTS = 4000;
const COLD_SECONDS = 12;
/** A second look at a program that is not warm yet: after so many seconds of load. */
const EARLY_SECONDS = 2;
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
    if (isFirst) peers.push(...(await startPeers(run, workload)));
    const subjects = [
      ...run.references,
      run.strict,
      ...run.against,
      ...(isFirst ? [await run.batched(), ...peers] : []),
    ];
    const entries = subjects.map((subject): Entry => ({ subject, workload }));
    await warm(run, entries.filter(needsWarmUp));
    run.say('warm windows');
    const before = { bytes: bytesWritten(run.strict.pid), answered: run.strict.answered };
    const costs = await alternate(entries, {
      ...{ rounds: Math.max(2, Math.round(ROUNDS * run.scale)), connections: CONNECTIONS, seconds: WINDOW_SECONDS },
    });
    const written = (bytesWritten(run.strict.pid) - before.bytes) / (run.strict.answered - before.answered) / 1024;
    return [
      ...cold,
      ...costFigures(workload.id, 'cpu warm', costs),
      ...durabilityFigures(workload, costs),
      ...peerFigures(workload, { costs, peers }),
      figure({ row: workload.id, subject: 'strict', metric: 'written', value: written, unit: 'KiB' }),
    ];
  } finally {
    for (const peer of peers) await peer.stop();
  }
}

/** Processor time of strict durability by that of batched, where both were measured. */
function durabilityFigures(workload: Workload, costs: readonly Cost[]): Figure[] {
  const of = (name: string) => costs.find(({ entry }) => entry.subject.name === name)?.cpu;
  const [strict, batched] = [of('strict'), of('batched')];
  if (strict === undefined || batched === undefined) return [];
  const value = strict / batched;
  return [figure({ row: workload.id, subject: 'strict', metric: 'cpu warm by batched', value, unit: 'x' })];
}

/** Processor time of other gateways by that of this one. */
export function peerFigures(
  { id }: Workload,
  { costs, peers }: { costs: readonly Pick<Cost, 'entry' | 'cpu'>[]; peers: readonly Subject[] },
): Figure[] {
  const strict = costs.find(({ entry }) => entry.subject.name === 'strict');
  return costs.flatMap(({ entry: { subject }, cpu }) =>
    strict && strict.cpu > 0 && cpu > 0 && peers.includes(subject)
      ? [figure({ row: id, subject: subject.name, metric: 'cpu warm by strict', value: cpu / strict.cpu, unit: 'x' })]
      : [],
  );
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
          ...peers.map(({ name, start }) => ({ name, start: () => start(workload) })),
        ]
      : []),
  ];
  const measured: ColdWindow[] = [];
  const early: ColdWindow[] = [];
  for (const { name, start } of starters) {
    say(`${name}, cold`);
    const subject = await start().catch((error) => say(`${name} does not run: ${error.message}`));
    if (!subject) continue;
    try {
      const target = subject.target(workload);
      const load = { connections: CONNECTIONS, requests: COLD_REQUESTS, seconds: COLD_SECONDS * Math.max(0.5, scale) };
      const began = performance.now();
      const window = target && (await measureWindow(subject, target, load));
      if (window) measured.push({ name, ...window });
      if (!target || workload !== passthrough || name === 'batched') continue;
      const seconds = EARLY_SECONDS - (performance.now() - began) / 1000;
      const entry = { subject, workload };
      if (seconds > 0 && needsWarmUp(entry)) await warmUp(entry, { connections: CONNECTIONS, seconds });
      const next = await measureWindow(subject, target, { connections: CONNECTIONS, seconds: EARLY_SECONDS });
      if (next) early.push({ name, ...next, after: subject.answered - next.ok });
    } finally {
      await subject.stop();
    }
  }
  return [
    ...coldFigures(workload, 'cpu cold', measured),
    ...coldFigures(workload, `cpu after ${EARLY_SECONDS} s`, early),
  ];
}

interface ColdWindow extends Window {
  name: string;
  /** Answers before it. */
  after?: number;
}

function coldFigures(workload: Workload, metric: string, windows: readonly ColdWindow[]): Figure[] {
  const costOf = (name: string) => windows.find((one) => one.name === name)?.cpu;
  const [nginx, bare] = [costOf('nginx'), costOf('bare')];
  return windows.map(({ name, cpu, rate, ok, after }) =>
    figure({
      ...{ row: workload.id, subject: name, metric, value: cpu, unit: 'us', answersPerSecond: rate },
      ...(nginx !== undefined && { toNginx: cpu / nginx }),
      ...(bare !== undefined && { toBare: cpu / bare }),
      ...(after === undefined ? ok < COLD_REQUESTS && { note: `the first ${ok} answers` } : { after }),
    }),
  );
}

async function warm(run: Run, entries: readonly Entry[]): Promise<void> {
  for (const entry of entries) {
    run.say(`${entry.subject.name}, warming up`);
    const load = { connections: CONNECTIONS, requests: WARM.requests, seconds: WARM.seconds * run.scale };
    await warmUp(entry, load);
  }
}
