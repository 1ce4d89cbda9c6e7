/** The Responses protocol over a WebSocket: `response.create` messages, and the events of a stream without its framing. */

import * as Type from 'typebox';
import type { Fields } from '../../core/fields.ts';
import { knownNames } from '../../core/json/names.ts';
import type { SocketForm } from '../../core/socket.ts';
import { KNOWN_SCHEMAS } from './names.ts';
import { ResponsesSocketRequest } from './socket-request.ts';

const Envelope = Type.Object({ type: Type.Unknown(), generate: Type.Unknown(), stream_id: Type.Unknown() });

export const socket: SocketForm = {
  path: '/v1/responses',
  summary: 'Answer conversations over a WebSocket',
  names: knownNames([...KNOWN_SCHEMAS, Envelope]),
  requestHeaders,
  createRequest: (memory) => new ResponsesSocketRequest(memory),
};

/** Upstreams are asked over HTTP, so what the client wants of the WebSocket is not for them. */
function requestHeaders(headers: Fields): Fields {
  const wanted = headers['openai-beta'];
  const betas = (typeof wanted === 'string' ? wanted.split(',') : []).map((beta) => beta.trim());
  const others = betas.filter((beta) => !beta.startsWith('responses_websockets'));
  const { 'openai-beta': _, ...rest } = headers;
  return others.length > 0 ? { ...rest, 'openai-beta': others.join(', ') } : rest;
}
