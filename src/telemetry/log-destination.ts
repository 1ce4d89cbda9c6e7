/** Log destination: lines to a file descriptor, collected and written together, and flushed before the process ends. */

import { type DestinationStream, pino } from 'pino';
import { type Clock, systemClock } from '../core/clock.ts';

export interface LogDestination extends DestinationStream {
  /** Until then each line is written at once. To be called when every stop signal that is handled ends in an exit. */
  startBuffering(): void;
}

/** Waiting lines of this length are written at once. */
const FLUSH_LENGTH_BYTES = 8192;
/** The longest write to a pipe that is not mixed with those of other processes. */
const ATOMIC_WRITE_BYTES = 4096;
/** The longest time that a line waits. */
const FLUSH_DELAY_MS = 200;
/** Lines beyond this length are dropped whole, while the descriptor accepts none, as on a full disk. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** Lines from this level on are written at once, with those before them. */
const ERROR_LEVEL = pino.levels.values.error ?? 50;

export interface LogDestinationOptions {
  /** Other processes write to the descriptor too. */
  shared?: boolean;
  clock?: Pick<Clock, 'after'>;
}

/** Writes synchronously, so that lines keep their order and are whole however the process ends. */
export function openLogDestination(
  fd: number,
  { shared = false, clock = systemClock }: LogDestinationOptions = {},
): LogDestination {
  const lines = pino.destination({
    fd,
    sync: true,
    maxLength: MAX_WAITING_BYTES,
    ...(shared
      ? { minLength: ATOMIC_WRITE_BYTES / 2, maxWrite: ATOMIC_WRITE_BYTES }
      : { minLength: FLUSH_LENGTH_BYTES }),
  });
  // A write error, such as that of a full disk, never stops the gateway. The lines wait for the next attempt.
  lines.on('error', () => undefined);
  let isBuffering = false;
  let cancelTimer: (() => void) | undefined;

  function flush(): void {
    cancelTimer?.();
    cancelTimer = undefined;
    lines.flush();
  }

  /** Also writes what a failed write left. */
  function flushAtEnd(): void {
    try {
      lines.flushSync();
    } catch {
      // Nobody can be told.
    }
  }

  // Also after an uncaught error, before Node prints it.
  process.on('exit', flushAtEnd);
  const destination: LogDestination & { lastLevel: number } = {
    lastLevel: 0,
    write(line) {
      lines.write(line);
      if (!isBuffering || destination.lastLevel >= ERROR_LEVEL) flush();
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
