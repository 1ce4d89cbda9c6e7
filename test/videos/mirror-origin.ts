/** Servers that hold a video, well-behaved or not, and mirrors that may reach them. */

import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAddressPolicy } from '../../src/net/address-policy.ts';
import { createGuardedClient } from '../../src/net/guarded-client.ts';
import { createTrustedClient } from '../../src/net/trusted-client.ts';
import { createMirror, type FullMirror, type MirrorOptions } from '../../src/videos/mirror/index.ts';
import type { AssetSource } from '../../src/videos/mirror.ts';
import { testCa } from '../net/servers.ts';

export interface Seen {
  path: string;
  headers: IncomingHttpHeaders;
}

export interface Origin {
  url: string;
  seen: Seen[];
  close(): Promise<void>;
}

/** A server on loopback that speaks http, as an upstream that an operator configured may. */
export async function startOrigin(listener: RequestListener): Promise<Origin> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    seen.push({ path: request.url ?? '', headers: request.headers });
    response.on('error', () => {});
    listener(request, response);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

/** Answers with bytes, or the range of them that is asked for as long as `If-Range` names this version; silent after `until` bytes. */
export function serve(
  video: Buffer,
  { etag = '"v1"', until = video.length, headers = {} }: { etag?: string; until?: number; headers?: object } = {},
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const [, first] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? [];
    const start = first !== undefined && request.headers['if-range'] === etag ? Number(first) : 0;
    const span = start > 0 && { 'content-range': `bytes ${start}-${video.length - 1}/${video.length}` };
    const length = video.length - start;
    response.writeHead(start > 0 ? 206 : 200, {
      etag,
      'content-type': 'video/mp4',
      'content-length': length,
      ...span,
      ...headers,
    });
    if (until >= video.length) response.end(video.subarray(start));
    else response.write(video.subarray(start, until));
  };
}

/** A file type box, a movie header of so many seconds, and noise up to the size. */
export function makeVideo(bytes: number, seconds = 2.5): Buffer {
  const header = Buffer.alloc(108);
  header.writeUInt32BE(1000, 12);
  header.writeUInt32BE(seconds * 1000, 16);
  const start = Buffer.concat([box('ftyp', Buffer.from('isom\0\0\0\0isom')), box('moov', box('mvhd', header))]);
  return Buffer.concat([start, box('mdat', randomBytes(bytes - start.length - 8))]);
}

export function box(type: string, content: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(content.length + 8);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, content]);
}

export interface TestMirror {
  mirror: FullMirror;
  folder: string;
  /** Everything on the disk, relative to the folder of videos. */
  files(): string[];
  /** Why videos were not kept. */
  reasons: string[];
  keep(source: AssetSource, id?: string): ReturnType<FullMirror['save']>;
  close(): Promise<void>;
}

export const TASK = '11111111-1111-4111-8111-111111111111';
export const SECRET = Buffer.alloc(32, 7);

export function testMirror(options: Partial<MirrorOptions> = {}): TestMirror {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'polygate-mirror-'));
  const { clock } = options;
  const trusted = createTrustedClient({ ...(clock && { clock }) });
  const policy = createAddressPolicy({ allowCidrs: ['127.0.0.0/8'] });
  const guarded = createGuardedClient({
    policy,
    lookup: async () => ['127.0.0.1'],
    extraCa: testCa,
    ...(clock && { clock }),
  });
  const clients = { trusted, guarded };
  const reasons: string[] = [];
  const log = { warn: (details: { reason?: string }) => void reasons.push(details.reason ?? '') };
  const mirror = createMirror({
    log,
    folder,
    store: { type: 'local' },
    clients,
    secrets: [SECRET],
    reserveBytes: 0,
    ...options,
  });
  return {
    mirror,
    folder,
    reasons,
    files: () =>
      readdirSync(join(folder, 'videos'), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, 'videos').length + 1))
        .sort(),
    keep: (source, id = TASK) => mirror.save({ id, owner: 'o' }, 0, source, new AbortController().signal),
    async close() {
      await trusted.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
