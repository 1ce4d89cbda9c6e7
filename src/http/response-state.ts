/** State of a response to a client, over HTTP or over a WebSocket. Node's `ServerResponse` is one. */

export interface ResponseState {
  /** Whether the head was sent. */
  readonly headersSent: boolean;
  readonly statusCode: number;
  /** All of it was handed to the system. */
  readonly writableFinished: boolean;
  /** The client is gone. */
  readonly destroyed: boolean;
  /** Called once, at its end or when the client disconnects. */
  on(event: 'close', listener: () => void): unknown;
}
