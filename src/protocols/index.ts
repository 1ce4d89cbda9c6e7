/** Protocol registry: the wire formats for clients and upstreams. */

import type { Protocol, UpstreamProtocol } from '../core/protocol.ts';
import { chat } from './chat/index.ts';
import { converse } from './converse/index.ts';
import { generate } from './generate/index.ts';
import { messages } from './messages/index.ts';
import { responses } from './responses/index.ts';

export const protocols: readonly Protocol[] = [chat, messages, generate, responses];

/** Protocols of upstreams: all of clients, and those that no client speaks. */
export const upstreamProtocols: readonly UpstreamProtocol[] = [...protocols, converse];

/** Surface of the video tasks, which have no protocol of their own. */
export const VIDEO_SURFACE = 'videos';

/** Surfaces: the parts of the API that a key can be scoped to, which are the protocols of clients and the video tasks. */
export const SURFACES: readonly string[] = [...protocols.map(({ id }) => id), VIDEO_SURFACE];

/** Throws for an unknown id, which is a programming error. */
export function protocolOf(id: string): Protocol {
  return found(protocols, id);
}

/** Throws for an unknown id, which is a programming error. */
export function upstreamProtocolOf(id: string): UpstreamProtocol {
  return found(upstreamProtocols, id);
}

function found<Known extends UpstreamProtocol>(known: readonly Known[], id: string): Known {
  const protocol = known.find((candidate) => candidate.id === id);
  if (!protocol) throw new Error(`no protocol ${id}`);
  return protocol;
}
