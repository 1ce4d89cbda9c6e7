/** Disks for tests of the journal: they hold writes back, break them off, or fail. */

import { fdatasyncSync, writeSync } from 'node:fs';
import { type JournalDisk, nodeDisk } from '../../../src/usage/journal/disk.ts';

/** Writes at once, and not in a thread that waits for a processor: on a busy machine the journal does not seem to stall. */
export const directDisk: JournalDisk = {
  ...nodeDisk,
  write(fd, bytes, { from, length, at }, onWritten) {
    const written = writeSync(fd, bytes, from, length, at);
    process.nextTick(onWritten, null, written);
  },
  sync(fd, onDone) {
    fdatasyncSync(fd);
    process.nextTick(onDone, null);
  },
};

export interface BreakableDisk extends JournalDisk {
  /** The next writes fail with this code. */
  fail?: string;
  /** Writes are held back until they are let through. */
  held: boolean;
  /** The next write is cut off after so many bytes, and its end never reported: the process died. */
  cut?: number;
  /** Called with the place of each write in its file. */
  onWrite?: (span: { at: number; length: number }) => void;
  letThrough(): void;
  /** The process dies: no call begins any more. Resolves once those that run have ended. */
  die(): Promise<void>;
}

export function breakableDisk(): BreakableDisk {
  let waiting: (() => void)[] = [];
  let isDead = false;
  let running = 0;
  let onIdle = () => {};
  /** Counts a call of the file system until it has ended. */
  function run<A extends unknown[]>(onDone: (...result: A) => void): (...result: A) => void {
    running += 1;
    return (...result) => {
      running -= 1;
      if (running === 0) onIdle();
      onDone(...result);
    };
  }
  const disk: BreakableDisk = {
    open: (path, flags, onOpen) => isDead || nodeDisk.open(path, flags, run(onOpen)),
    sync: (fd, onDone) => isDead || nodeDisk.sync(fd, run(onDone)),
    close: (fd, onDone) => isDead || nodeDisk.close(fd, run(onDone)),
    remove: (path, onDone) => isDead || nodeDisk.remove(path, run(onDone)),
    held: false,
    async die() {
      isDead = true;
      if (running > 0) await new Promise<void>((resolve) => (onIdle = resolve));
    },
    letThrough() {
      disk.held = false;
      const held = waiting;
      waiting = [];
      for (const go of held) go();
    },
    write(fd, bytes, span, onWritten) {
      disk.onWrite?.(span);
      const go = () => {
        if (isDead) return;
        if (disk.fail !== undefined) {
          const error = Object.assign(new Error(disk.fail), { code: disk.fail });
          setImmediate(() => onWritten(error, 0));
        } else if (disk.cut !== undefined) {
          const length = Math.min(disk.cut, span.length);
          if (length > 0)
            nodeDisk.write(
              fd,
              bytes,
              { ...span, length },
              run(() => undefined),
            );
        } else nodeDisk.write(fd, bytes, span, run(onWritten));
      };
      if (disk.held) waiting.push(go);
      else go();
    },
  };
  return disk;
}
