/** Liveness of a connection: pings, and whether the client is still there. */

import type { SocketChannel } from './channel.ts';

/** Intervals without a sign of the client after which it is gone. */
const MAX_SILENT_INTERVALS = 2;
/** Pings and pongs of a client in one interval. */
const MAX_CONTROL_FRAMES = 300;

export class Liveness {
  readonly #channel: SocketChannel;
  #silentIntervals = 0;
  #controlFrames = 0;
  /** Bytes written at the end of the last interval, if more were waiting. */
  #writtenBefore: number | undefined;

  constructor(channel: SocketChannel) {
    this.#channel = channel;
  }

  /** The client has sent something. */
  heard(): void {
    this.#silentIntervals = 0;
  }

  /** Counts a ping or pong; false where they are too many. */
  controlFrame(): boolean {
    this.#controlFrames += 1;
    return this.#controlFrames <= MAX_CONTROL_FRAMES;
  }

  /** Ends an interval, and sends a ping. False if the client is gone: it neither sends nor reads anything. */
  tick(): boolean {
    const { written, waiting } = this.#channel;
    const isReading = this.#writtenBefore !== undefined && written > this.#writtenBefore;
    this.#writtenBefore = waiting > 0 ? written : undefined;
    this.#controlFrames = 0;
    this.#silentIntervals = isReading ? 0 : this.#silentIntervals + 1;
    if (this.#silentIntervals > MAX_SILENT_INTERVALS) return false;
    this.#channel.ping();
    return true;
  }
}
