/** Ends of connections with clients that still send, or that do not read. */

import type { Socket } from 'node:net';
import type { Clock } from '../core/clock.ts';

/** A client that got its last response while it sends has longer to read it as long as it sends so much in each of these times. */
const LINGER_MS = 2_000;
const MIN_LINGER_BYTES = 8 * 1024;
const MAX_LINGER_MS = 30_000;
/** Time in which a client takes nothing of what is written, after which it is gone; the shorter one where it should be leaving. */
const STALL_MS = 300_000;
const LAST_STALL_MS = 5_000;

/**
 * Ends a connection behind the last response. Where bytes come that nobody reads, the system tells the client at once, which then
 * discards what it has not read itself; so they are read for a while.
 */
export function linger(socket: Socket, { clock, isClosing }: { clock: Clock; isClosing(): boolean }): void {
  const end = clock.monotonic() + MAX_LINGER_MS;
  let read = socket.bytesRead;
  let cancel = clock.after(LINGER_MS, check);

  function check(): void {
    const isSlow = socket.bytesRead - read < MIN_LINGER_BYTES;
    read = socket.bytesRead;
    if (isSlow || isClosing() || clock.monotonic() >= end) socket.destroy();
    else cancel = clock.after(LINGER_MS, check);
  }

  socket.end();
  socket.once('close', () => cancel());
}

/** Watches whether a client takes what is written for it. */
export class WriteProgress {
  /** Bytes that waited at the last check, and since when it is so many. */
  #waiting = 0;
  #since = 0;

  /** Whether nothing of what waits has gone out for too long. */
  isStalled(socket: Socket, { now, isServerClosing }: { now: number; isServerClosing: boolean }): boolean {
    const waiting = waitingBytes(socket);
    if (waiting === 0 || waiting !== this.#waiting) {
      this.#waiting = waiting;
      this.#since = now;
      return false;
    }
    const isLeaving = isServerClosing || socket.readableEnded;
    return now - this.#since >= (isLeaving ? LAST_STALL_MS : STALL_MS);
  }
}

/** The stream counts a write until all of it is out; the handle below it, which the types do not have, counts what is left. */
function waitingBytes(socket: Socket & { _handle?: { writeQueueSize?: number } }): number {
  return socket.writableLength === 0 ? 0 : (socket._handle?.writeQueueSize ?? socket.writableLength);
}
