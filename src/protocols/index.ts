/** The wire formats the gateway speaks, to clients and to upstreams. */

import type { Protocol } from '../core/protocol.ts';
import { chat } from './chat/index.ts';
import { generate } from './generate/index.ts';
import { messages } from './messages/index.ts';

export const protocols: readonly Protocol[] = [chat, messages, generate];

/** Throws for an id that no protocol has: a mistake in the code, never in a request. */
export function protocolOf(id: string): Protocol {
  const protocol = protocols.find((candidate) => candidate.id === id);
  if (!protocol) throw new Error(`no protocol ${id}`);
  return protocol;
}
