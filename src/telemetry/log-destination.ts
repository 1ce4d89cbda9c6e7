/** Log destination: lines to a file descriptor, collected and written together, and flushed before the process ends. */

import { type DestinationStream, pino } from 'pino';
import { type Clock, systemClock } from '../core/clock.ts';

export interface LogDestination extends DestinationStream {
  /** Starts buffering; before, each line is written at once. Requires that every handled stop signal ends in an exit. */
  startBuffering(): void;
}

/** Length of lines that are written together. */
const BATCH_LENGTH = 8192;
/** The longest write to a pipe that is not mixed with those of other processes. */
const ATOMIC_WRITE_BYTES = 4096;
/** The longest time that a line waits. */
const FLUSH_DELAY_MS = 200;
/** Lines beyond this length are dropped whole, while the descriptor accepts none, as on a full disk. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** Lines from this level on are written at once, with those before them. */
const ERROR_LEVEL = pino.levels.values.error ?? 50;

export interface LogDestinationOptions {
  /** Whether other processes write to the descriptor, too. */
  shared?: boolean;
  clock?: Pick<Clock, 'after'>;
}

/** Writes synchronously, so that lines keep their order and are whole however the process ends. */
export function openLogDestination(
  fd: number,
  { shared = false, clock = systemClock }: LogDestinationOptions = {},
): LogDestination {
  // Gets lines in batches, because it counts all bytes that wait whenever it gets more.
  const file = pino.destination({
    fd,
    sync: true,
    maxLength: MAX_WAITING_BYTES,
    ...(shared && { maxWrite: ATOMIC_WRITE_BYTES }),
  });
  // A write error, such as that of a full disk, never stops the gateway. The lines wait for the next attempt.
  file.on('error', () => undefined);
  const maxBatch = shared ? ATOMIC_WRITE_BYTES : BATCH_LENGTH;
  const sizeOf = (line: string) => (shared ? Buffer.byteLength(line) : line.length);
  let isBuffering = false;
  let batch = '';
  let batchSize = 0;
  let cancelTimer: (() => void) | undefined;

  function flush(): void {
    cancelTimer?.();
    cancelTimer = undefined;
    const lines = batch;
    batch = '';
    batchSize = 0;
    if (lines !== '') file.write(lines);
  }

  /** Writes all pending lines, including those of a failed write. Tries once: `flushSync` tries for as long as a disk is full. */
  function flushAtEnd(): void {
    try {
      flush();
      file.write('');
    } catch {
      // Nobody can be told.
    }
  }

  // Also after an uncaught error, before Node prints it.
  process.on('exit', flushAtEnd);
  const destination: LogDestination & { lastLevel: number } = {
    lastLevel: 0,
    write(line) {
      const size = sizeOf(line);
      if (batchSize + size > maxBatch) flush();
      batch += line;
      batchSize += size;
      if (!isBuffering || destination.lastLevel >= ERROR_LEVEL || batchSize >= maxBatch) flush();
      else cancelTimer ??= clock.after(FLUSH_DELAY_MS, flush, { background: true });
    },
    startBuffering() {
      isBuffering = true;
      // Its default, to dump core, follows.
      process.once('SIGQUIT', () => {
        flushAtEnd();
        process.kill(process.pid, 'SIGQUIT');
      });
    },
  };
  // Makes pino set `lastLevel` before each line.
  return Object.assign(destination, { [pino.symbols.needsMetadataGsym]: true });
}
