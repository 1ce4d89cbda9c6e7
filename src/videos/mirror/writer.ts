/** Mirror writer: downloads a video and puts it into the media store. Each step is durable before the next, so it can resume. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, startTimeout } from '../../core/clock.ts';
import type { MirroredFile } from '../../records/video-task.ts';
import { PRIVATE_FILE } from '../../security/file-modes.ts';
import type { AssetSource, Mirror } from '../mirror.ts';
import type { DiskReserve } from './disk-reserve.ts';
import { NotMirrorable } from './disk-reserve.ts';
import { checkVideo, type DownloadLimits, download, tooLarge } from './download.ts';
import { durationOf } from './duration.ts';
import { type MediaStore, nameIn } from './media-store.ts';
import { extensionOf, mediaTypeOf } from './media-type.ts';
import { openPartialFile, type PartialFile, removePartialFile } from './partial-file.ts';
import type { DownloadClients } from './source.ts';

export interface MirrorWriterOptions {
  clients: DownloadClients;
  /** Folder of the partial files; the store can be elsewhere. */
  folder: string;
  store: MediaStore;
  /** Prefix of the name in `MirroredFile.file`. */
  scheme: string;
  limits: DownloadLimits;
  reserve: DiskReserve;
  log: MirrorLog;
  clock: Clock;
}

/** The part of a pino logger that is used. */
export interface MirrorLog {
  warn(details: object, text: string): void;
}

/** Characters of base64 decoded at once; a multiple of four. */
const SLICE_CHARACTERS = 4 * 256 * 1024;

export function createMirrorWriter({
  clients,
  folder,
  store,
  scheme,
  limits,
  reserve,
  log,
  clock,
}: MirrorWriterOptions): Mirror['save'] {
  const running = new Map<string, Promise<unknown>>();

  async function saveFile(path: string, place: string, source: AssetSource, outer: AbortSignal): Promise<MirroredFile> {
    const before = await readRecord(path);
    if (before && (await store.exists(nameIn(before), before.bytes))) return before;
    await reserve.requireSpace(0);
    const part = await openPartialFile(path);
    const timeout = startTimeout(clock, limits.totalMs, outer);
    const { signal } = timeout;
    try {
      await fill(part, source, signal);
      const kept = await describe(part, place);
      await writeFile(recordPathOf(path), JSON.stringify(kept), { mode: PRIVATE_FILE, flush: true });
      await store.put(path, nameIn(kept), kept, signal);
      await removePartialFile(path);
      return kept;
    } catch (thrown) {
      const unfit = isDiskFull(thrown) ? new NotMirrorable('the disk is full', thrown) : thrown;
      await (unfit instanceof NotMirrorable ? part.discard() : part.close());
      outer.throwIfAborted();
      throw unfit;
    } finally {
      timeout.cancel();
    }
  }

  async function fill(part: PartialFile, source: AssetSource, signal: AbortSignal): Promise<void> {
    if (source.type === 'data') await decode(part, source.data, limits.maxBytes);
    else await download(clients, source, part, { limits, reserve, signal, clock });
  }

  async function describe(part: PartialFile, place: string): Promise<MirroredFile> {
    const { sha256, bytes } = await part.finish();
    const mime = mediaTypeOf(part.head) ?? 'video/mp4';
    const seconds = await durationOf(part.path);
    const file = `${scheme}:${place}-${sha256.slice(0, 16)}.${extensionOf(mime)}`;
    return { file, sha256, bytes, mime, ...(seconds !== undefined && { seconds }) };
  }

  return async ({ id }, index, source, signal) => {
    const place = `videos/${id}/${index}`;
    const path = join(folder, `${place}.part`);
    const others = running.get(path)?.catch(() => {});
    const mine = (async () => {
      // A run that lost its lease may still be active for a moment.
      await others;
      signal.throwIfAborted();
      return await saveFile(path, place, source, signal);
    })();
    running.set(path, mine);
    try {
      return await mine;
    } catch (thrown) {
      if (!(thrown instanceof NotMirrorable)) throw thrown;
      log.warn({ task: id, index, reason: thrown.message, err: thrown.cause }, 'a finished video is not mirrored');
      return undefined;
    } finally {
      if (running.get(path) === mine) running.delete(path);
    }
  };
}

/** Path of the record of a completely downloaded file. */
function recordPathOf(path: string): string {
  return `${path}.kept.json`;
}

async function readRecord(path: string): Promise<MirroredFile | undefined> {
  try {
    return JSON.parse(await readFile(recordPathOf(path), 'utf8'));
  } catch {
    return undefined;
  }
}

async function decode(part: PartialFile, data: string | Buffer, maxBytes: number): Promise<void> {
  if (Buffer.byteLength(data, 'base64') > maxBytes) throw tooLarge(maxBytes);
  await part.restart({});
  for (let at = 0; at < data.length; at += SLICE_CHARACTERS) {
    const end = at + SLICE_CHARACTERS;
    await part.append(typeof data === 'string' ? Buffer.from(data.slice(at, end), 'base64') : data.subarray(at, end));
  }
  checkVideo(part);
}

function isDiskFull(thrown: unknown): boolean {
  const code = (thrown as { code?: unknown }).code;
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG';
}
