/** Exported objects as files of a folder. */

import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../security/file-modes.ts';
import type { ExportTarget } from './target.ts';

const PARTIAL = '.partial';

export function createFolderTarget(root: string): ExportTarget {
  return {
    async create(name, bytes) {
      const path = join(root, name);
      const folder = dirname(path);
      await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
      await removePartial(folder);
      const partial = join(folder, `${randomUUID()}${PARTIAL}`);
      const file = await open(partial, 'wx', PRIVATE_FILE);
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      try {
        // Unlike a rename it fails where there is a file.
        await link(partial, path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
        throw error;
      } finally {
        await rm(partial, { force: true });
      }
      await sync(folder);
      return true;
    },
    async read(name) {
      try {
        return await readFile(join(root, name), 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    close: async () => {},
  };
}

/** Removes unfinished files of gateways that were killed. */
async function removePartial(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (name.endsWith(PARTIAL)) await rm(join(folder, name), { force: true });
}

async function sync(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
