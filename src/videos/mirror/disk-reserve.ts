/** How much of a disk the mirror may fill: it stops before the rest of the gateway has no room left. */

import { statfs } from 'node:fs/promises';
import { NotMirrorable } from './not-mirrorable.ts';

const GIBIBYTES = 1024 ** 3;

export interface DiskReserve {
  /** Throws `Unfit` when so many bytes more would leave less than the reserve. */
  requireSpace(bytes: number): Promise<void>;
}

/** `reserve` in bytes; by default a twentieth of the disk, and 10 GiB of a large one. */
export function createDiskReserve(folder: string, reserve?: number): DiskReserve {
  return {
    async requireSpace(bytes) {
      const { blocks, bavail, bsize } = await statfs(folder);
      const kept = reserve ?? Math.min((blocks * bsize) / 20, 10 * GIBIBYTES);
      if (bavail * bsize - bytes < kept) throw new NotMirrorable('the disk has no room for it');
    },
  };
}
