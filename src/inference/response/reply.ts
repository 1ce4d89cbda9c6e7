/** Where an answer goes: the response to the client, as the relay writes it. */

/** Everything is written in order; nothing after `end`. */
export interface Reply {
  head(status: number, headers: Record<string, string>): void;
  write(chunk: string | Buffer): void;
  /** The client reads too slowly: what is written now waits in memory. `onDrain` tells when to go on. */
  readonly full: boolean;
  /** Bytes that were written and wait in memory for the client. */
  readonly waiting: number;
  /** In place of the listener before: one attempt writes at a time. */
  onDrain(listener: () => void): void;
  /** Trailers are left out where the client's HTTP has none. */
  end(chunk?: string | Buffer, trailers?: Record<string, string>): void;
  /** Called once when the client went away before the end, at once if it is gone already. */
  onClose(listener: () => void): void;
  /** Called once when nothing of the answer waits in memory any more: the client has it or went away. */
  onDone(listener: () => void): void;
}
