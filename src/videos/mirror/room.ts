/** How much of a disk the mirror may fill: it stops before the rest of the gateway has no room left. */

import { statfs } from 'node:fs/promises';
import { Unfit } from './unfit.ts';

const GIBIBYTE = 1024 ** 3;

export interface Room {
  /** Throws `Unfit` when so many bytes more would leave less than the reserve. */
  check(bytes: number): Promise<void>;
}

/** `reserve` in bytes; by default a twentieth of the disk, and 10 GiB of a large one. */
export function createRoom(folder: string, reserve?: number): Room {
  return {
    async check(bytes) {
      const { blocks, bavail, bsize } = await statfs(folder);
      const kept = reserve ?? Math.min((blocks * bsize) / 20, 10 * GIBIBYTE);
      if (bavail * bsize - bytes < kept) throw new Unfit('the disk has no room for it');
    },
  };
}
