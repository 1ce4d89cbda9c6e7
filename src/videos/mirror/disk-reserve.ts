/** Disk reserve: free disk space that the mirror leaves to the rest of the gateway. */

import { statfs } from 'node:fs/promises';

const GIBIBYTES = 1024 ** 3;

export interface DiskReserve {
  /** Throws `NotMirrorable` if storing `bytes` more would use the reserve. */
  requireSpace(bytes: number): Promise<void>;
}

/** `reserve` in bytes: 5 percent of the disk by default, 10 GiB at most. */
export function createDiskReserve(folder: string, reserve?: number): DiskReserve {
  return {
    async requireSpace(bytes) {
      const { blocks, bavail, bsize } = await statfs(folder);
      const kept = reserve ?? Math.min((blocks * bsize) / 20, 10 * GIBIBYTES);
      if (bavail * bsize - bytes < kept) throw new NotMirrorable('the disk has no room for it');
    },
  };
}

/** Permanent error: no later try can mirror the video. The reason is logged for the operator. */
export class NotMirrorable extends Error {
  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.name = 'NotMirrorable';
  }
}
