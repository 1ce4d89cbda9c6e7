/**
 * Which endpoint a conversation was last answered by: its caches, signatures and encrypted reasoning are there. Bounded,
 * in memory only; what is forgotten goes where its name leads, as at the beginning.
 */

import { createHash } from 'node:crypto';
import { monotonicNow } from '../core/clock.ts';

export interface ConversationBindings {
  endpointOf(conversation: string): string | undefined;
  bind(conversation: string, endpoint: string): void;
}

/** Milliseconds after which caches of providers are gone. */
const BINDING_TTL_MS = 10 * 60_000;
const MAX_BINDINGS = 50_000;

export function createConversationBindings(now: () => number = monotonicNow): ConversationBindings {
  const bound = new Map<string, { endpoint: string; until: number }>();

  return {
    endpointOf(conversation) {
      const binding = bound.get(digest(conversation));
      return binding && binding.until > now() ? binding.endpoint : undefined;
    },
    bind(conversation, endpoint) {
      const key = digest(conversation);
      bound.delete(key);
      bound.set(key, { endpoint, until: now() + BINDING_TTL_MS });
      const [oldest] = bound.size > MAX_BINDINGS ? bound.keys() : [];
      if (oldest !== undefined) bound.delete(oldest);
    },
  };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}
