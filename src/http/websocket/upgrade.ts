/** Upgrade requests: handled like all others, with a response of their own, until one of them is accepted. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ServerResponse as NodeResponse } from '../../core/node-http.ts';

/** Connection of an upgrade request. */
export interface Upgrade {
  /**
   * Takes the connection over, with the bytes that came behind the head. From then on the response counts as sent with
   * status 101, and ends with the connection.
   */
  take(): { socket: Socket; head: Buffer };
}

export function openUpgrade(
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): { response: ServerResponse; upgrade: Upgrade } {
  // Node has removed its own listeners.
  socket.on('error', ignore);
  const response = new NodeResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.on('finish', () => socket.destroySoon());
  const upgrade: Upgrade = {
    take() {
      response.detachSocket(socket);
      response.statusCode = SWITCHING_PROTOCOLS;
      Object.defineProperties(response, { headersSent: { value: true }, writableFinished: { value: true } });
      socket.on('close', () => response.emit('close'));
      return { socket, head };
    },
  };
  return { response, upgrade };
}

const SWITCHING_PROTOCOLS = 101;

function ignore(): void {}
