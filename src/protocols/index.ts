/** Protocol registry: the wire formats for clients and upstreams. */

import type { Protocol } from '../core/protocol.ts';
import { chat } from './chat/index.ts';
import { generate } from './generate/index.ts';
import { messages } from './messages/index.ts';
import { responses } from './responses/index.ts';

export const protocols: readonly Protocol[] = [chat, messages, generate, responses];

/** Throws for an unknown id, which is a programming error. */
export function protocolOf(id: string): Protocol {
  const protocol = protocols.find((candidate) => candidate.id === id);
  if (!protocol) throw new Error(`no protocol ${id}`);
  return protocol;
}
