/** Responses to malformed requests, e.g. broken framing, oversized headers or an incomplete head. */

import type { Socket } from 'node:net';
import { GatewayError } from '../core/errors.ts';
import { STATUS_CODES } from '../core/node-http.ts';
import type { Protocol } from '../core/protocol.ts';
import { errorResponse } from './errors.ts';
import type { HttpContext } from './request-context.ts';

export interface ClientErrorOptions {
  newRequestId(): string;
  protocolOf(path: string): Protocol;
  /** The last request of a connection. */
  lastRequest(socket: Socket): LastRequest | undefined;
}

export interface LastRequest {
  path: string;
  /** No response was begun. */
  isOpen: boolean;
  /** The request was received completely, so its handler will respond. */
  isComplete: boolean;
  /** The response was begun and not ended. */
  isResponding: boolean;
  refuse(error: GatewayError): void;
  /** Closes the connection after the response. */
  closeAfterwards(): void;
}

interface ClientError extends Error {
  code?: string;
  /** A Buffer, unlike in the framework's types. */
  rawPacket?: unknown;
}

export type RefuseClientError = (error: ClientError, socket: Socket) => void;

/** Bytes of a malformed request that are searched for its path. */
const MAX_REQUEST_LINE_BYTES = 4096;

export function lastRequestOf(context: HttpContext): LastRequest {
  const { request, response, path, hasResponded } = context;
  const closeAfterwards = (): void => void response.setHeader('connection', 'close');
  return {
    path,
    isOpen: !hasResponded && !response.headersSent,
    isComplete: request.complete,
    isResponding: hasResponded && !response.writableFinished,
    closeAfterwards,
    refuse(error) {
      closeAfterwards();
      context.refuse(error);
    },
  };
}

export function createClientErrorResponder({
  newRequestId,
  protocolOf,
  lastRequest,
}: ClientErrorOptions): RefuseClientError {
  return (error, socket) => {
    const last = lastRequest(socket);
    if (!socket.writable || last?.isResponding || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    if (last?.isOpen && last.isComplete) return last.closeAfterwards();
    const refusal = refusalOf(error);
    if (last?.isOpen) return last.refuse(refusal);
    const path = pathIn(error.rawPacket) ?? last?.path ?? '/';
    const protocol = protocolOf(path);
    const requestId = newRequestId();
    const { status, headers, body } = errorResponse(refusal, protocol, requestId);
    const lines = Object.entries({
      ...headers,
      [protocol.requestIdHeader]: requestId,
      'x-polygate-request-id': requestId,
      'content-length': String(body.length),
      connection: 'close',
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`);
    socket.end(body);
    socket.destroySoon();
  };
}

function refusalOf(cause: ClientError): GatewayError {
  switch (cause.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new GatewayError('request_timeout', 'The request did not come in full in time.', { cause });
    case 'HPE_HEADER_OVERFLOW':
      return new GatewayError('headers_too_large', 'The headers are larger than 16 KiB.', { cause });
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new GatewayError('payload_too_large', 'The extensions of a chunk are larger than 16 KiB.', { cause });
    default:
      return new GatewayError('invalid_request', 'This is no well-formed HTTP request.', { cause });
  }
}

function pathIn(packet: unknown): string | undefined {
  if (!Buffer.isBuffer(packet)) return undefined;
  const text = packet.subarray(0, MAX_REQUEST_LINE_BYTES).toString('latin1');
  return /^[A-Za-z]{1,20} (\/[^\s?#]*)/.exec(text)?.[1];
}
