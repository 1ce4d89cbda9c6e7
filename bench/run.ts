/** One run: starts what rows share, measures them in order, and stops it. */

import type { Figure } from './figure.ts';
import type { Row, Run } from './rows/row.ts';
import { startBare } from './subjects/bare.ts';
import { hasNginx, startNginx } from './subjects/nginx.ts';
import { startPolygate } from './subjects/polygate.ts';
import type { Subject } from './subjects/subject.ts';
import { startUpstreams } from './subjects/upstreams.ts';

export interface RunOptions {
  scale: number;
  /** Folder of another checkout. */
  against?: string | undefined;
  say(text: string): void;
}

export async function measureRows(rows: readonly Row[], { scale, against: root, say }: RunOptions): Promise<Figure[]> {
  const upstreams = await startUpstreams();
  const references = [...(hasNginx ? [await startNginx(upstreams)] : []), await startBare(upstreams)];
  const strict = await startPolygate({ name: 'strict', upstreams });
  const against = root === undefined ? [] : [await startPolygate({ name: 'against', upstreams, root })];
  let batched: Promise<Subject> | undefined;
  const run: Run = {
    ...{ upstreams, references, strict, against, scale, peers: [], say },
    batched() {
      batched ??= startPolygate({ name: 'batched', upstreams, durability: 'batched' });
      return batched;
    },
  };
  const figures: Figure[] = [];
  for (const row of rows) {
    say(row.title);
    figures.push(...(await row.run({ ...run, say: (text) => say(`${row.title}: ${text}`) })));
  }
  for (const subject of [...references, strict, ...against, await batched]) await subject?.stop();
  await upstreams.stop();
  return figures;
}
