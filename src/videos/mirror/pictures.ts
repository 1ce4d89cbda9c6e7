/** Mirrored pictures: files in the data folder, each with a signed URL, until the retention of media ends. */

import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { PictureToKeep } from '../../core/picture-store.ts';
import type { MirroredFile } from '../../records/video-task.ts';
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../security/file-modes.ts';
import type { DiskReserve } from './disk-reserve.ts';
import type { FileUrls } from './file-urls.ts';
import { ignoreMissing } from './local-store.ts';
import { PICTURE_HEAD_BYTES, pictureMimeOf, pictureTypeOf } from './media-type.ts';
import type { MirrorLog } from './writer.ts';

export interface MirroredPicturesOptions {
  /** Data folder. Its subfolder `pictures` contains the pictures. */
  folder: string;
  urls: FileUrls;
  reserve: DiskReserve;
  /** Retention of media. */
  keepMediaMs: number;
  log: MirrorLog;
  /** Unix milliseconds. */
  now(): number;
}

export interface MirroredPictures {
  /** Writes a picture in the background. Returns its signed URL; undefined if it exceeds a bound or is not a picture. */
  keepPicture(base: string, picture: PictureToKeep): string | undefined;
  /** Waits for a write under way. Undefined if the picture does not exist or its retention has ended. */
  findPicture(name: string): Promise<MirroredFile | undefined>;
  /** Removes pictures after the end of their retention. Returns the number of removed files. */
  removeExpiredPictures(now: number): Promise<number>;
  /** Resolves when all writes have ended. */
  settlePictures(): Promise<void>;
}

const MAX_PICTURE_BYTES = 20 * 1024 * 1024;
const MAX_PICTURES_PER_REQUEST = 8;
/** Maximum size of all pictures that are not written yet. */
const MAX_WAITING_BYTES = 128 * 1024 * 1024;
/** Characters of base64 decoded at once; a multiple of four. */
const SLICE_CHARACTERS = 4 * 256 * 1024;

export function createMirroredPictures(options: MirroredPicturesOptions): MirroredPictures {
  const { urls, reserve, keepMediaMs, log, now } = options;
  const folder = join(options.folder, 'pictures');
  const writes = new Map<string, Promise<void>>();
  let waitingBytes = 0;

  async function write(name: string, data: string, bytes: number): Promise<void> {
    await reserve.requireSpace(bytes);
    await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
    const path = join(folder, name);
    const part = `${path}.part`;
    try {
      await writeBase64(part, data);
      await rename(part, path);
    } catch (thrown) {
      await rm(part, { force: true });
      throw thrown;
    }
  }

  return {
    keepPicture(base, { requestId, index, data }) {
      const bytes = Buffer.byteLength(data, 'base64');
      if (index >= MAX_PICTURES_PER_REQUEST || bytes > MAX_PICTURE_BYTES) return undefined;
      if (waitingBytes + bytes > MAX_WAITING_BYTES) return undefined;
      const type = pictureTypeOf(Buffer.from(data.slice(0, PICTURE_HEAD_BYTES * 2), 'base64'));
      if (!type) return undefined;
      const name = `${randomBytes(16).toString('hex')}.${type}`;
      waitingBytes += bytes;
      const written = write(name, data, bytes)
        .catch((err) => log.warn({ request: requestId, index, err }, 'a picture of an answer is not kept'))
        .finally(() => {
          waitingBytes -= bytes;
          writes.delete(name);
        });
      writes.set(name, written);
      return urls.signPictureUrl(base, name);
    },
    async findPicture(name) {
      await writes.get(name);
      const found = await stat(join(folder, name)).catch(ignoreMissing);
      if (!found || now() - found.mtimeMs >= keepMediaMs) return undefined;
      const [id = '', type = ''] = name.split('.');
      // The random name identifies the content as well as its hash does.
      return { file: `local:pictures/${name}`, sha256: id, bytes: found.size, mime: pictureMimeOf(type) };
    },
    async removeExpiredPictures(time) {
      let count = 0;
      for (const name of (await readdir(folder).catch(ignoreMissing)) ?? []) {
        const found = await stat(join(folder, name)).catch(ignoreMissing);
        if (!found || time - found.mtimeMs < keepMediaMs) continue;
        await rm(join(folder, name), { force: true });
        count++;
      }
      return count;
    },
    async settlePictures() {
      await Promise.all(writes.values());
    },
  };
}

async function writeBase64(path: string, data: string): Promise<void> {
  const file = await open(path, 'wx', PRIVATE_FILE);
  try {
    for (let at = 0; at < data.length; at += SLICE_CHARACTERS) {
      await file.writeFile(Buffer.from(data.slice(at, at + SLICE_CHARACTERS), 'base64'));
    }
    await file.datasync();
  } finally {
    await file.close();
  }
}
