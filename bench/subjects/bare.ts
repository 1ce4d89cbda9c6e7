/** The bare relay as a subject. */

import { join } from 'node:path';
import { startChild, temporaryFolder } from '../host/children.ts';
import { requestBytes } from '../load/connection.ts';
import type { Subject, Upstreams } from './subject.ts';

const PROGRAM = join(import.meta.dirname, '../programs/bare-relay.ts');

export async function startBare({ instant, other }: Upstreams): Promise<Subject> {
  const began = performance.now();
  const folder = temporaryFolder();
  const child = startChild(process.execPath, [PROGRAM, instant, other], { folder, withChannel: true });
  const port = Number(await child.firstMessage());
  return {
    name: 'bare',
    pid: child.pid,
    readyAfter: performance.now() - began,
    answered: 0,
    target: ({ upstreamPath, body }) => ({ port, bytes: requestBytes(upstreamPath, { headers: {}, body: body('m') }) }),
    stop: () => child.stop(),
  };
}
