/** Disks for tests of the journal: they hold writes back, break them off, or fail. */

import { type JournalDisk, nodeDisk } from '../../../src/usage/journal/disk.ts';

export interface BreakableDisk extends JournalDisk {
  /** The next writes fail with this code. */
  fail?: string;
  /** Writes are held back until they are let through. */
  held: boolean;
  /** The next write is cut off after so many bytes, and its end never reported: the process died. */
  cut?: number;
  /** Called with the fd and the length of each write. */
  onWrite?: (length: number) => void;
  letThrough(): void;
}

export function breakableDisk(): BreakableDisk {
  let waiting: (() => void)[] = [];
  const disk: BreakableDisk = {
    ...nodeDisk,
    held: false,
    letThrough() {
      disk.held = false;
      const held = waiting;
      waiting = [];
      for (const go of held) go();
    },
    write(fd, bytes, span, onWritten) {
      disk.onWrite?.(span.length);
      const go = () => {
        if (disk.fail !== undefined) {
          const error = Object.assign(new Error(disk.fail), { code: disk.fail });
          setImmediate(() => onWritten(error, 0));
        } else if (disk.cut !== undefined) {
          const length = Math.min(disk.cut, span.length);
          if (length > 0) nodeDisk.write(fd, bytes, { ...span, length }, () => undefined);
        } else nodeDisk.write(fd, bytes, span, onWritten);
      };
      if (disk.held) waiting.push(go);
      else go();
    },
  };
  return disk;
}
