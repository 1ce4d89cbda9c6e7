/**
 * Sticky binding of conversations to the endpoint that last answered, which has their caches and encrypted reasoning. In
 * memory and bounded; a conversation without a binding is placed by rendezvous hashing.
 */

import { createHash } from 'node:crypto';

export interface ConversationBindings {
  /** Id of the bound endpoint; undefined without a binding, or after its expiry. */
  endpointOf(conversation: string): string | undefined;
  /** Binds a conversation to the id of an endpoint, in place of an earlier binding, and restarts the expiry. */
  bind(conversation: string, endpoint: string): void;
}

/** Provider caches have expired after this time. */
const BINDING_TTL_MS = 10 * 60_000;
const MAX_BINDINGS = 50_000;

/** Creates bindings that expire by `now`, in milliseconds of a monotonic clock. */
export function createConversationBindings(now: () => number): ConversationBindings {
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
