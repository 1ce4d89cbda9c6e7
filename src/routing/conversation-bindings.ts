/**
 * Sticky binding of conversations to the endpoint that last answered, which has their caches and encrypted reasoning. In
 * memory and bounded; a conversation without a binding is placed by rendezvous hashing.
 */

export interface ConversationBindings {
  /** Id of the bound endpoint, by the key of a conversation; undefined without a binding, or after its expiry. */
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
      const binding = bound.get(conversation);
      return binding && binding.until > now() ? binding.endpoint : undefined;
    },
    bind(conversation, endpoint) {
      bound.delete(conversation);
      bound.set(conversation, { endpoint, until: now() + BINDING_TTL_MS });
      const [oldest] = bound.size > MAX_BINDINGS ? bound.keys() : [];
      if (oldest !== undefined) bound.delete(oldest);
    },
  };
}
