/** Server of an upstream, and the events of a socket that leads there. */

import type { Socket } from 'node:net';
import type { OnRead } from '../../http1/shared-reads.ts';

/** Server of an upstream. */
export interface Origin {
  /** Value of the header `host`. */
  host: string;
  hostname: string;
  port: number;
  isSecure: boolean;
  /** TLS session to resume. */
  session?: Buffer | undefined;
}

export interface SocketEvents {
  /** Gets the bytes of the origin. */
  read: OnRead;
  /** The connection goes on with a socket inside of the one before. */
  replaced(socket: Socket): void;
  /** It leads to the origin. */
  connected(): void;
}
