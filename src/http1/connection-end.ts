/** Ends of connections with clients that still send, or that do not read. */

import type { Socket } from 'node:net';
import type { Clock } from '../core/clock.ts';

/** Interval of the lingering close: a client that sends something, but less than the minimum, loses its connection after one. */
const LINGER_MS = 2_000;
const MIN_LINGER_BYTES = 8 * 1024;
/** Intervals in a row in which a client may send nothing, as one does that waits for a processor or a disk, and all of them. */
const QUIET_INTERVALS = 3;
const MAX_INTERVALS = 15;
/** Minimum average rate at which a client sends a body, or takes a response of which more waits for it. */
export const MIN_RATE_BYTES_PER_S = 4096;
/**
 * Stall timeout of a slow reader: after this time without a byte taken its connection is closed; the shorter one applies while the
 * server closes or when the client has ended its side.
 */
const STALL_MS = 300_000;
const LAST_STALL_MS = 5_000;

/**
 * Ends a connection behind the last response. Where bytes come that nobody reads, the system tells the client at once, which then
 * discards the part of the response that it has not read; so they are read for a while.
 */
export function linger(socket: Socket, { clock, isClosing }: { clock: Clock; isClosing(): boolean }): void {
  let read = socket.bytesRead;
  let intervals = 0;
  let quiet = 0;
  let cancel = clock.after(LINGER_MS, check);

  function check(): void {
    const bytes = socket.bytesRead - read;
    read += bytes;
    intervals++;
    quiet = bytes === 0 ? quiet + 1 : 0;
    const isSlow = (bytes > 0 && bytes < MIN_LINGER_BYTES) || quiet === QUIET_INTERVALS;
    if (isSlow || intervals === MAX_INTERVALS || isClosing()) socket.destroy();
    else cancel = clock.after(LINGER_MS, check);
  }

  socket.end();
  socket.once('close', () => cancel());
}

/** Minimum of bytes that a client takes in a stall timeout while more waits for it. */
const MIN_TAKEN_BYTES = (MIN_RATE_BYTES_PER_S * STALL_MS) / 1000;

/** Detects slow readers: clients that do not take the bytes written for them. Only time in which bytes wait counts. */
export class WriteProgress {
  /** Bytes that were taken at the last check at which some waited, and since when it is so many. */
  #taken: number | undefined;
  #since = 0;
  /** Begin of the time in which the least must be taken, and the bytes that were taken before. */
  #began = 0;
  #takenBefore = 0;

  /** Whether the client took no byte during the stall timeout, or fewer than the minimum rate asks for. */
  isStalled(socket: Socket, { now, isServerClosing }: { now: number; isServerClosing: boolean }): boolean {
    if (socket.writableLength === 0) {
      this.#taken = undefined;
      return false;
    }
    const taken = takenBytes(socket);
    const isEnough = now - this.#began >= STALL_MS && taken - this.#takenBefore >= MIN_TAKEN_BYTES;
    if (this.#taken === undefined || isEnough) {
      this.#began = now;
      this.#takenBefore = taken;
    }
    if (taken !== this.#taken) this.#since = now;
    this.#taken = taken;
    const isLeaving = isServerClosing || socket.readableEnded;
    return now - this.#began >= STALL_MS || now - this.#since >= (isLeaving ? LAST_STALL_MS : STALL_MS);
  }
}

/** The stream counts a write when all of it is out; the handle below it, which the types do not have, counts bytes as they go out. */
function takenBytes(socket: Socket & { _handle?: { bytesWritten?: number; writeQueueSize?: number } }): number {
  const { bytesWritten, writeQueueSize } = socket._handle ?? {};
  if (bytesWritten === undefined || writeQueueSize === undefined) return socket.bytesWritten - socket.writableLength;
  return bytesWritten - writeQueueSize;
}
