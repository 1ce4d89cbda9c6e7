/** The upstreams of a run: nginx for small answers where it is installed, and the program on raw sockets for the rest. */

import { join } from 'node:path';
import { startChild, temporaryFolder } from '../host/children.ts';
import { hasNginx, startNginxUpstream } from './nginx.ts';
import type { Upstreams } from './subject.ts';

const PROGRAM = join(import.meta.dirname, '../programs/upstream.ts');

export async function startUpstreams(): Promise<Upstreams> {
  const child = startChild(process.execPath, [PROGRAM], { folder: temporaryFolder(), withChannel: true });
  const other = `http://127.0.0.1:${await child.firstMessage()}`;
  const nginx = hasNginx ? await startNginxUpstream() : undefined;
  return {
    instant: nginx ? `http://127.0.0.1:${nginx.port}` : other,
    other,
    usesNginx: hasNginx,
    async stop() {
      await nginx?.stop();
      await child.stop();
    },
  };
}
