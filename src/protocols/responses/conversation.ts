/** Conversation of a Responses request: the client's own id, else its beginning. */

import type { Fields } from '../../core/fields.ts';
import type { Json } from '../../core/json/json.ts';
import { outline } from '../../core/outline.ts';

/** Fields with the id of a conversation; those after the second are of Codex. */
const ID_HEADERS = ['x-session-id', 'x-litellm-session-id', 'conversation_id', 'session_id', 'session-id', 'thread-id'];

/** Text that identifies the conversation: its own id, a session header, or an outline of its beginning. */
export function conversation(body: Json, headers: Fields): string {
  const own = conversationName(body) ?? ID_HEADERS.map((name) => headers[name]).find(Boolean);
  return String(own ?? outline([body.instructions ?? null, beginning(body.input)]));
}

export function conversationName({ prompt_cache_key, session_id }: Json): Json {
  return prompt_cache_key ?? session_id;
}

/** The items up to the first user message, which are the same in every later turn. */
function beginning(input: Json): Json {
  if (!Array.isArray(input)) return input;
  return input.slice(0, input.findIndex((item) => item?.role === 'user') + 1);
}
