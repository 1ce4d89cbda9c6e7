/** Keeps what upstreams made, because their addresses do not last: fetched once, named by its hash, readable until it expires. */

import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PRIVATE_FOLDER } from '../../security/file-modes.ts';
import type { Mirror, MirroredFile } from '../mirror.ts';
import { createReader, type OpenContent } from './content.ts';
import type { DownloadLimits } from './download.ts';
import { createFileUrls, type FileUrlQuery, type FileUrls } from './file-urls.ts';
import { createKeeper, type Log } from './keeper.ts';
import { createLocalStore } from './local-store.ts';
import { type MediaStore, nameIn } from './media-store.ts';
import { createRetention, type Retention } from './retention.ts';
import { createRoom } from './room.ts';
import { createS3Requests, type S3Options } from './s3-requests.ts';
import { createS3Store } from './s3-store.ts';
import type { Clients } from './source.ts';

export type { ContentAnswer, ContentRequest } from './answer.ts';
export type { Content, OpenContent } from './content.ts';
export { expireHourly } from './retention.ts';

export interface MirrorOptions {
  /** The data folder; videos lie in `videos` below it, and so do parts on their way to an object store. */
  folder: string;
  store: { type: 'local' } | { type: 'off' } | ({ type: 's3' } & S3Options);
  clients: Clients;
  /** Secrets of 32 bytes for addresses of local files: the first signs, all verify. */
  secrets: readonly [Buffer, ...Buffer[]];
  /** Milliseconds that addresses hold; a day if absent. */
  urlLifetime?: number;
  /** Milliseconds that media are kept; 7 days if absent. */
  keepMedia?: number;
  limits?: Partial<DownloadLimits>;
  /** Bytes of the disk that stay free; by default a twentieth of it, and 10 GiB of a large one. */
  reserve?: number;
  /** Hears why a video is not mirrored. */
  log: Log;
  /** Unix milliseconds. */
  now?(): number;
}

export interface FullMirror extends Mirror, Retention {
  openContent: OpenContent;
  /** An address that needs no key; `base` is the gateway's own, for local files. The same for an hour, so that caches work. */
  publicUrl(base: string, task: { id: string }, index: number, kept: MirroredFile): string;
  /** Throws `invalid_signature` or `url_expired`. */
  checkFileUrl(taskId: string, index: number, query: FileUrlQuery): void;
}

const LIMITS: DownloadLimits = { maxBytes: 2 * 1024 ** 3, idle: 30_000, total: 600_000 };
const DAY = 24 * 3_600_000;

export function createMirror(options: MirrorOptions): FullMirror {
  const { folder, clients, secrets, urlLifetime = DAY, keepMedia = 7 * DAY, now = Date.now } = options;
  mkdirSync(join(folder, 'videos'), { recursive: true, mode: PRIVATE_FOLDER });
  const limits = { ...LIMITS, ...options.limits };
  const urls: FileUrls = createFileUrls({ secrets, lifetime: urlLifetime, now });
  const local = createLocalStore(folder);
  const objects = options.store.type === 's3' ? s3(options.store, clients, limits, now) : undefined;

  function storeOf(kept: MirroredFile): MediaStore | undefined {
    return kept.file.startsWith('s3:') ? objects?.store : local;
  }

  const room = createRoom(folder, options.reserve);
  const target = objects ? { store: objects.store, scheme: 's3' } : { store: local, scheme: 'local' };
  const keep = createKeeper({ ...target, clients, folder, limits, room, log: options.log });

  return {
    keep: async (...call) => (options.store.type === 'off' ? undefined : await keep(...call)),
    async erase({ id }, kept) {
      for (const each of kept) await storeOf(each)?.remove(nameIn(each));
      await rm(join(folder, 'videos', id), { recursive: true, force: true });
    },
    openContent: createReader(clients, storeOf),
    publicUrl(base, { id }, index, kept) {
      if (objects && kept.file.startsWith('s3:')) return objects.requests.presign(nameIn(kept), urlLifetime);
      return urls.signFileUrl(base, id, index);
    },
    checkFileUrl: urls.checkFileUrl,
    ...createRetention({ stores: objects ? [local, objects.store] : [local], keepMedia }),
  };
}

function s3(options: S3Options, { trusted }: Clients, { idle, total }: DownloadLimits, now: () => number) {
  const requests = createS3Requests(options, now);
  return { requests, store: createS3Store({ requests, client: trusted, prefix: options.prefix ?? '', idle, total }) };
}
