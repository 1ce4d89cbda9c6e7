/** Mirror: copies of finished videos, because upstream URLs expire. Downloads each once and serves it until its retention ends. Also keeps pictures of answers. */

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../core/clock.ts';
import { createS3Requests, type S3Options } from '../../net/s3-requests.ts';
import type { MirroredFile } from '../../records/video-task.ts';
import { createPrivateFolder } from '../../security/file-modes.ts';
import type { Mirror } from '../mirror.ts';
import { createContentReader, type OpenContent } from './content.ts';
import { createDiskReserve } from './disk-reserve.ts';
import type { DownloadLimits } from './download.ts';
import { createFileUrls, type FileUrlQuery, type FileUrls } from './file-urls.ts';
import { createLocalStore } from './local-store.ts';
import { type MediaStore, nameIn } from './media-store.ts';
import { createMirroredPictures, type MirroredPictures } from './pictures.ts';
import { createRetention, type Retention } from './retention.ts';
import { createS3Store } from './s3-store.ts';
import type { DownloadClients } from './source.ts';
import { createMirrorWriter, type MirrorLog } from './writer.ts';

export type { Content, OpenContent } from './content.ts';
export type { ContentRequest, ContentResponse } from './response.ts';
export { startHourlyCleanup } from './retention.ts';

export interface MirrorOptions {
  /** Data folder. Its subfolder `videos` contains the videos, and partial files on their way to an object store. */
  folder: string;
  store: { type: 'local' } | { type: 'off' } | ({ type: 's3' } & S3Options);
  clients: DownloadClients;
  /** Secrets of 32 bytes for signed URLs of local files: the first one signs, all verify. */
  secrets: readonly [Buffer, ...Buffer[]];
  /** Validity of signed URLs; 1 day by default. */
  urlLifetimeMs?: number;
  /** Retention of media; 7 days by default. */
  keepMediaMs?: number;
  limits?: Partial<DownloadLimits>;
  /** Disk space to leave free: 5 percent of the disk by default, 10 GiB at most. */
  reserveBytes?: number;
  /** Logs why a video is not mirrored. */
  log: MirrorLog;
  clock?: Clock;
}

export interface FullMirror extends Mirror, Retention, Omit<MirroredPictures, 'removeExpiredPictures'> {
  openContent: OpenContent;
  /** Signed URL. `base`: public URL of the gateway, for local files. The same URL for an hour, so that it can be cached. */
  publicUrl(base: string, task: { id: string }, index: number, kept: MirroredFile): string;
  /** Throws `invalid_signature` or `url_expired`. */
  checkFileUrl(taskId: string, index: number, query: FileUrlQuery): void;
  /** Throws `invalid_signature` or `url_expired`. */
  checkPictureUrl(name: string, query: FileUrlQuery): void;
}

const DEFAULT_LIMITS: DownloadLimits = { maxBytes: 2 * 1024 ** 3, idleMs: 30_000, totalMs: 600_000 };
const DAY_MS = 24 * 3_600_000;

export function createMirror(options: MirrorOptions): FullMirror {
  const { folder, clients, secrets, urlLifetimeMs = DAY_MS, keepMediaMs = 7 * DAY_MS, clock = systemClock } = options;
  const { now } = clock;
  createPrivateFolder(join(folder, 'videos'));
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const urls: FileUrls = createFileUrls({ secrets, lifetimeMs: urlLifetimeMs, now });
  const local = createLocalStore(folder);
  const objects = options.store.type === 's3' ? openBucket(options.store, clients, limits, clock) : undefined;

  function storeOf(kept: MirroredFile): MediaStore | undefined {
    return kept.file.startsWith('s3:') ? objects?.store : local;
  }

  const reserve = createDiskReserve(folder, options.reserveBytes);
  const pictures = createMirroredPictures({ folder, urls, reserve, keepMediaMs, log: options.log, now });
  const retention = createRetention({ stores: objects ? [local, objects.store] : [local], keepMediaMs });
  const target = objects ? { store: objects.store, scheme: 's3' } : { store: local, scheme: 'local' };
  const save = createMirrorWriter({ ...target, clients, folder, limits, reserve, log: options.log, clock });

  return {
    save: async (...call) => (options.store.type === 'off' ? undefined : await save(...call)),
    has: async (kept) => (await storeOf(kept)?.exists(nameIn(kept), kept.bytes)) ?? false,
    async erase({ id }, kept) {
      for (const each of kept) await storeOf(each)?.remove(nameIn(each));
      await rm(join(folder, 'videos', id), { recursive: true, force: true });
    },
    openContent: createContentReader(clients, storeOf, clock),
    publicUrl(base, { id }, index, kept) {
      if (objects && kept.file.startsWith('s3:')) return objects.requests.presign(nameIn(kept), urlLifetimeMs);
      return urls.signFileUrl(base, id, index);
    },
    checkFileUrl: urls.checkFileUrl,
    checkPictureUrl: urls.checkPictureUrl,
    // Pictures are kept in the data folder only: with an object store, other gateways could not serve them.
    keepPicture: (...call) => (options.store.type === 'local' ? pictures.keepPicture(...call) : undefined),
    findPicture: pictures.findPicture,
    settlePictures: pictures.settlePictures,
    async removeExpired(time) {
      const removed = await pictures.removeExpiredPictures(time);
      return removed + (await retention.removeExpired(time));
    },
  };
}

function openBucket(
  options: S3Options,
  { trusted }: DownloadClients,
  { idleMs, totalMs }: DownloadLimits,
  clock: Clock,
) {
  const requests = createS3Requests(options, clock.now);
  return {
    requests,
    store: createS3Store({ requests, client: trusted, prefix: options.prefix ?? '', idleMs, totalMs, clock }),
  };
}
