/** Memory of open slow streams: a frame each 1.5 s. */

import { readFileSync } from 'node:fs';
import { type Figure, figure } from '../figure.ts';
import { residentMemory } from '../host/proc.ts';
import { holdStreams } from '../load/held-streams.ts';
import { startBare } from '../subjects/bare.ts';
import { hasNginx, startNginx } from '../subjects/nginx.ts';
import { startPolygate } from '../subjects/polygate.ts';
import type { Subject } from '../subjects/subject.ts';
import { slowStream } from '../workload.ts';
import type { Row, Run } from './row.ts';

const FEW = 1000;
const MANY = 5000;
/** Open files of a process beside the two sockets of a stream. */
const OTHER_FILES = 500;

export const streamsRow: Row = { id: 'streams', title: 'open slow streams', run: measureStreams };

async function measureStreams({ upstreams, scale, say }: Run): Promise<Figure[]> {
  const possible = Math.floor((openFilesLimit() - OTHER_FILES) / 2);
  const wanted = scale < 1 ? 2 * FEW : MANY;
  const many = Math.min(wanted, possible);
  if (many < wanted) say(`the limit of open files (ulimit -n) allows only ${many} streams`);
  if (many <= FEW) return [];
  const starters = [
    ...(hasNginx ? [() => startNginx(upstreams)] : []),
    () => startBare(upstreams),
    () => startPolygate({ name: 'strict', upstreams, trustsLoopback: true }),
  ];
  const figures: Figure[] = [];
  for (const start of starters) {
    const subject = await start();
    try {
      say(subject.name);
      figures.push(...(await measure(subject, many)));
    } finally {
      await subject.stop();
    }
  }
  return figures;
}

/** The first streams also pay for heap and code, so the memory of one is that of the later ones. */
async function measure(subject: Subject, many: number): Promise<Figure[]> {
  const target = subject.target(slowStream);
  if (!target) return [];
  const streams = holdStreams(target);
  try {
    const idle = residentMemory(subject.pid);
    await streams.open(FEW);
    const withFew = residentMemory(subject.pid);
    await streams.open(many - FEW);
    const withMany = residentMemory(subject.pid);
    const common = { row: 'streams', subject: subject.name };
    const lost = many - streams.standing();
    const each = (withMany - withFew) / (many - FEW) / 1000;
    return [
      figure({ ...common, metric: 'memory before', value: idle / 1e6, unit: 'MB' }),
      figure({ ...common, metric: `memory with ${FEW}`, value: withFew / 1e6, unit: 'MB' }),
      figure({ ...common, metric: `memory with ${many}`, value: withMany / 1e6, unit: 'MB' }),
      figure({
        ...{ ...common, metric: `each of ${FEW} to ${many}`, value: each, unit: 'kB' },
        ...(lost > 0 && { note: [`${lost} did not stand`, ...streams.refusals()].join(', ') }),
      }),
    ];
  } finally {
    streams.close();
  }
}

function openFilesLimit(): number {
  const [, hard = ''] = /^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return Number(hard) || 1024;
}
