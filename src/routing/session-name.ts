/** Name of the conversation of a request, as its client gave it: it is stored with the record, so it is no part of the content. */

import { createHash } from 'node:crypto';
import { textOf } from '../core/json/json.ts';
import type { InferenceCall } from './inference-call.ts';

export type NamedCall = Pick<InferenceCall, 'headers' | 'body'> & {
  operation: Pick<InferenceCall['operation'], 'conversationName'>;
};

const MAX_NAME_CHARACTERS = 200;
const DIGEST_CHARACTERS = 22;
/** Names of conversations, as clients and coding agents send them; the first one counts. */
const SESSION_HEADERS = [
  'x-session-id',
  'x-litellm-session-id',
  'x-claude-code-session-id',
  'session-id',
  'session_id',
  'conversation_id',
  'thread-id',
];

/** Bounded; of a header, else of the body. */
export function sessionNameOf({ headers, body, operation }: NamedCall): string | undefined {
  for (const name of SESSION_HEADERS) if (headers[name]) return boundedName(String(headers[name]));
  const named = textOf(operation.conversationName?.(body));
  return named === undefined ? undefined : boundedName(named);
}

/** A long one ends with its digest, so that it stays different from others with the same beginning. */
function boundedName(name: string): string {
  // PostgreSQL cannot store NUL, even as an escape in text that it would read as JSON.
  if (name.length <= MAX_NAME_CHARACTERS) return name.replaceAll('\0', '');
  const digest = createHash('sha256').update(name).digest('base64url').slice(0, DIGEST_CHARACTERS);
  return `${name.slice(0, MAX_NAME_CHARACTERS - DIGEST_CHARACTERS - 3).replaceAll('\0', '')}...${digest}`;
}
