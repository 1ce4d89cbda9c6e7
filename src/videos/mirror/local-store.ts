/** Local media store: files in the data folder. */

import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PRIVATE_FOLDER } from '../../security/file-modes.ts';
import type { MediaStore, StoredFile } from './media-store.ts';

export function createLocalStore(folder: string): MediaStore {
  const pathOf = (name: string) => join(folder, name);

  async function* list(): AsyncGenerator<StoredFile> {
    for (const entry of await entriesOf(join(folder, 'videos'))) {
      for (const file of await entriesOf(join(folder, 'videos', entry))) {
        const name = `videos/${entry}/${file}`;
        const found = await statOf(pathOf(name));
        if (found) yield { name, modifiedAt: found.mtimeMs };
      }
    }
  }

  return {
    list,
    async put(path, name) {
      const target = pathOf(name);
      await mkdir(dirname(target), { recursive: true, mode: PRIVATE_FOLDER });
      await rename(path, target);
      await syncFolder(dirname(target));
      await syncFolder(dirname(dirname(target)));
    },
    async exists(name, bytes) {
      return (await statOf(pathOf(name)))?.size === bytes;
    },
    async open(name, range, bytes) {
      const file = await open(pathOf(name)).catch(ignoreMissing);
      if (!file) return undefined;
      if ((await file.stat()).size === bytes) return file.createReadStream(range);
      await file.close();
      return undefined;
    },
    async remove(name) {
      await rm(pathOf(name), { force: true });
      await rmdir(dirname(pathOf(name))).catch(() => {});
    },
  };
}

export function ignoreMissing(thrown: NodeJS.ErrnoException): undefined {
  if (thrown.code !== 'ENOENT' && thrown.code !== 'ENOTDIR') throw thrown;
}

async function entriesOf(path: string): Promise<string[]> {
  return (await readdir(path).catch(ignoreMissing)) ?? [];
}

async function statOf(path: string) {
  return await stat(path).catch(ignoreMissing);
}

/** Syncs a folder, so that a rename survives a power loss. Not supported on Windows. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
