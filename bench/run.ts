/** One run: starts what rows share, measures them in order, and stops it. */

import type { Figure } from './figure.ts';
import { checkPaths } from './paths.ts';
import type { Row, Run } from './rows/row.ts';
import { startBare } from './subjects/bare.ts';
import { hasNginx, startNginx } from './subjects/nginx.ts';
import { isInstalled, startPeer } from './subjects/peer.ts';
import { peers } from './subjects/peers.ts';
import { startPolygate } from './subjects/polygate.ts';
import type { Subject } from './subjects/subject.ts';
import { startUpstreams } from './subjects/upstreams.ts';

export interface RunOptions {
  scale: number;
  /** Rows that would begin later are left out, by `performance.now()`. */
  deadline: number;
  /** Folder of another checkout. */
  against?: string | undefined;
  say(text: string): void;
}

export async function measureRows(
  rows: readonly Row[],
  { scale, deadline, against: root, say }: RunOptions,
): Promise<Figure[]> {
  const upstreams = await startUpstreams();
  const references = [...(hasNginx ? [await startNginx(upstreams)] : []), await startBare(upstreams)];
  const strict = await startPolygate({ name: 'strict', upstreams });
  await checkPaths(strict);
  const against = root === undefined ? [] : [await startPolygate({ name: 'against', upstreams, root })];
  let batched: Promise<Subject> | undefined;
  const run: Run = {
    peers: peers.filter(isInstalled).map((peer) => ({
      name: peer.name,
      start: (workload) => startPeer(peer, upstreams, workload),
    })),
    ...{ upstreams, references, strict, against, scale, say },
    batched() {
      batched ??= startPolygate({ name: 'batched', upstreams, durability: 'batched' });
      return batched;
    },
  };
  const figures: Figure[] = [];
  for (const row of rows) {
    if (performance.now() > deadline) {
      say(`NOT MEASURED, no time left: ${row.title}`);
      continue;
    }
    say(row.title);
    figures.push(...(await row.run({ ...run, say: (text) => say(`${row.title}: ${text}`) })));
  }
  for (const subject of [...references, strict, ...against, await batched]) await subject?.stop();
  await upstreams.stop();
  return figures;
}
