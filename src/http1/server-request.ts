/** Request on a connection of a client. */

import type { Socket } from 'node:net';
import type { GatewayError } from '../core/errors.ts';
import type { Fields } from '../core/fields.ts';
import { saysClose } from './fields.ts';
import type { ParsedHead } from './request-parser.ts';
import type { ServerResponse } from './server-response.ts';

export interface BodyReceiver {
  /** The chunk is lent until this returns. */
  data(chunk: Buffer): void;
  end(): void;
  /** The rest does not come; `error` says why if the client can be told. */
  broken(error?: GatewayError): void;
}

/** Takes the connection of an upgrade request over, with the bytes that came behind the head. */
export interface Upgrade {
  /** Takes the connection. The response then counts as sent with status 101, and ends with the connection. */
  take(): { socket: Socket; head: Buffer };
}

/** Connection that a request came on. */
export interface RequestConnection extends Upgrade {
  readonly socket: Socket;
  receive(request: ServerRequest, receiver: BodyReceiver): void;
}

export interface RequestHandler {
  /** Responds to a request, also where its body is broken. */
  handle(request: ServerRequest, response: ServerResponse): void;
  /** Responds to a request whose head could not be read; `path` is undefined if that could not either. */
  refuse(error: GatewayError, path: string | undefined, response: ServerResponse): void;
  /** Whether an upgrade request may take its connection over; others are handled as if they asked for none. */
  mayUpgrade(request: ServerRequest): boolean;
}

const KEEP_ALIVE = /(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)/i;
const UPGRADE = /(?:^|,)[ \t]*upgrade[ \t]*(?:,|$)/i;

export class ServerRequest {
  readonly method: string;
  readonly url: string;
  readonly isCurrent: boolean;
  readonly headers: Fields;
  readonly repeated: ParsedHead['repeated'];
  readonly hasBody: boolean;
  /** All of it has come. */
  complete: boolean;
  /** Takes over the connection; undefined where that is not possible. */
  upgrade: Upgrade | undefined;
  readonly #connection: RequestConnection;

  constructor({ method, url, isCurrent, headers, repeated, hasBody }: ParsedHead, connection: RequestConnection) {
    this.method = method;
    this.url = url;
    this.isCurrent = isCurrent;
    this.headers = headers;
    this.repeated = repeated;
    this.hasBody = hasBody;
    this.complete = !hasBody;
    this.#connection = connection;
  }

  get socket(): Socket {
    return this.#connection.socket;
  }

  /** Hands the body over; until then nothing of it is read. It is broken for all but the first receiver, and once a response has begun. */
  receive(receiver: BodyReceiver): void {
    this.#connection.receive(this, receiver);
  }

  /** Whether the client closes the connection after the response. */
  get isLast(): boolean {
    return saysClose(this.headers) || !(this.isCurrent || KEEP_ALIVE.test(this.headers.connection ?? ''));
  }

  /** Whether the client asks for an upgrade; HTTP/1.0 has none. */
  get asksToUpgrade(): boolean {
    const { upgrade, connection } = this.headers;
    return upgrade !== undefined && connection !== undefined && this.isCurrent && UPGRADE.test(connection);
  }

  /** Whether the client waits for `100 Continue` before it sends the body. */
  get expectsContinue(): boolean {
    return this.isCurrent && this.headers.expect?.toLowerCase() === '100-continue';
  }
}
