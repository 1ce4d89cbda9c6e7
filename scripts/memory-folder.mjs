/** A folder for temporary files in memory, where the system has one that is large enough. */

import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

/** Mounted by Linux for shared memory; a container may have as little as 64 MiB of it. */
const SHARED_MEMORY = '/dev/shm';
/** The fast suites keep less than a tenth of this at a time. */
const NEEDED_BYTES = 1024 ** 3;

/** Returns `{ path, remove }`, or undefined where only a disk is to be had. */
export function memoryFolder(parent = SHARED_MEMORY, neededBytes = NEEDED_BYTES) {
  try {
    const { bavail, bsize } = statfsSync(parent);
    if (bavail * bsize < neededBytes) return undefined;
    const path = mkdtempSync(join(parent, 'polygate-'));
    return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
  } catch {
    return undefined;
  }
}
