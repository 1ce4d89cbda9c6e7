/** Name of the conversation of a request, as its client gave it: it is stored with the record, so it is no part of the content. */

import { createHash } from 'node:crypto';
import { textOf } from '../core/json/json.ts';
import type { InferenceCall } from './inference-call.ts';

export type NamedCall = Pick<InferenceCall, 'headers' | 'body'> & {
  operation: Pick<InferenceCall['operation'], 'conversationName'>;
};

const MAX_NAME_CHARACTERS = 200;
const DIGEST_CHARACTERS = 22;

/** Bounded; of a header, else of the body. */
export function sessionNameOf({ headers, body, operation }: NamedCall): string | undefined {
  const sent = sessionHeaderOf(headers);
  if (sent) return boundedName(sent);
  const named = textOf(operation.conversationName?.(body));
  return named === undefined ? undefined : boundedName(named);
}

/** Session header of clients and coding agents; the first one counts. A loop over a list of names takes longer. */
function sessionHeaderOf(headers: NamedCall['headers']): string | undefined {
  return (
    headers['x-session-id'] ||
    headers['x-litellm-session-id'] ||
    headers['x-claude-code-session-id'] ||
    headers['session-id'] ||
    headers.session_id ||
    headers.conversation_id ||
    headers['thread-id']
  );
}

/** A long one ends with its digest, so that it stays different from others with the same beginning. */
function boundedName(name: string): string {
  // PostgreSQL cannot store NUL, even as an escape in text that it would read as JSON.
  if (name.length <= MAX_NAME_CHARACTERS) return name.replaceAll('\0', '');
  const digest = createHash('sha256').update(name).digest('base64url').slice(0, DIGEST_CHARACTERS);
  return `${name.slice(0, MAX_NAME_CHARACTERS - DIGEST_CHARACTERS - 3).replaceAll('\0', '')}...${digest}`;
}
