/** Reply interface: the response to the client, independent of the HTTP server. */

/** Writes in order; nothing may be written after `end`. */
export interface Reply {
  /** Writes the status and the headers; called once, before all else. */
  head(status: number, headers: Record<string, string>): void;
  write(chunk: string | Buffer): void;
  /** The write buffer is full because the client reads slowly; `onDrain` is called when it has space again. */
  readonly full: boolean;
  /** Bytes in the write buffer. */
  readonly waiting: number;
  /** Replaces the previous listener, because one attempt writes at a time. */
  onDrain(listener: () => void): void;
  /** Trailers are omitted for clients without HTTP trailers. */
  end(chunk?: string | Buffer, trailers?: Record<string, string>): void;
  /** Called once when the client disconnects before the end; immediately if it already has. */
  onClose(listener: () => void): void;
  /** Called once when the write buffer is empty after the end, or the client has disconnected. */
  onDone(listener: () => void): void;
}
