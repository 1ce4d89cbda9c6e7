/** Brings one video into the store: what has arrived, what is whole and what is kept stand on the disk before the next step. */

import { readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AssetSource, Kept, Mirror } from '../mirror.ts';
import { download, type Ending, type Limits } from './download.ts';
import { durationOf } from './duration.ts';
import { type MediaStore, nameIn } from './media-store.ts';
import { extensionOf, mediaTypeOf } from './media-type.ts';
import { openPart, type Part, removePart } from './part.ts';
import type { Clients } from './source.ts';

export interface KeeperOptions {
  clients: Clients;
  /** Where parts lie; the store may be elsewhere. */
  folder: string;
  store: MediaStore;
  /** Stands before the name in `Kept.file`. */
  scheme: string;
  limits: Limits;
  /** Share of the disk in use from which on nothing new begins. */
  highWater: number;
}

/** Bytes of base64 that are decoded at once; a multiple of four. */
const SLICE = 4 * 256 * 1024;

export function createKeeper({ clients, folder, store, scheme, limits, highWater }: KeeperOptions): Mirror['keep'] {
  const running = new Map<string, Promise<unknown>>();

  async function keep(path: string, place: string, source: AssetSource, outer: AbortSignal): Promise<Kept | undefined> {
    const before = await readNote(path);
    if (before && (await store.holds(nameIn(before), before.bytes))) return before;
    if (await isFull(folder, highWater)) return undefined;
    const signal = AbortSignal.any([outer, AbortSignal.timeout(limits.total)]);
    const part = await openPart(path);
    try {
      if ((await fill(part, source, signal)) === 'unfit') return await give(part);
      const kept = await describe(part, place);
      await writeFile(noteOf(path), JSON.stringify(kept), { flush: true });
      await store.put(path, nameIn(kept), kept, signal);
      await removePart(path);
      return kept;
    } catch (thrown) {
      if (isNoSpace(thrown)) return await give(part);
      await part.close();
      outer.throwIfAborted();
      throw thrown;
    }
  }

  async function fill(part: Part, source: AssetSource, signal: AbortSignal): Promise<Ending> {
    if (source.type === 'data') return await decode(part, source.data, limits.maxBytes);
    return await download(clients, source, part, { limits, signal });
  }

  async function describe(part: Part, place: string): Promise<Kept> {
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
      // A lease that was lost may leave its run behind for a moment.
      await others;
      signal.throwIfAborted();
      return await keep(path, place, source, signal);
    })();
    running.set(path, mine);
    try {
      return await mine;
    } finally {
      if (running.get(path) === mine) running.delete(path);
    }
  };
}

/** What is kept of a part that was whole once. */
function noteOf(path: string): string {
  return `${path}.kept.json`;
}

async function readNote(path: string): Promise<Kept | undefined> {
  try {
    return JSON.parse(await readFile(noteOf(path), 'utf8'));
  } catch {
    return undefined;
  }
}

async function give(part: Part): Promise<undefined> {
  await part.discard();
  await rm(noteOf(part.path), { force: true });
}

async function decode(part: Part, base64: string, maxBytes: number): Promise<Ending> {
  if ((base64.length / 4) * 3 > maxBytes + 2) return 'unfit';
  await part.restart({});
  for (let at = 0; at < base64.length; at += SLICE)
    await part.append(Buffer.from(base64.slice(at, at + SLICE), 'base64'));
  return part.bytes <= maxBytes && mediaTypeOf(part.head) !== undefined ? 'whole' : 'unfit';
}

async function isFull(folder: string, highWater: number): Promise<boolean> {
  const { blocks, bavail } = await statfs(folder);
  return blocks > 0 && 1 - bavail / blocks >= highWater;
}

function isNoSpace(thrown: unknown): boolean {
  const code = (thrown as { code?: unknown }).code;
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG';
}
