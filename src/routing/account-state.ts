/** What ties a conversation to the account that answered it: reasoning that only that account can read again, and its files. */

import { isObject, type Json } from '../core/json/json.ts';
import type { InferenceCall } from './inference-call.ts';

/** Where requests name files and caches that an account keeps. */
const KEPT = ['file_id', 'fileUri', 'file_uri', 'cachedContent', 'cached_content'];
/** Who speaks for the model. */
const MODEL_ROLES = ['assistant', 'model'];

export function hasAccountState({ body, protocol }: Pick<InferenceCall, 'body' | 'protocol'>): boolean {
  const turns: Json = body.messages ?? body.contents ?? [];
  const answers: Json[] = Array.isArray(turns) ? turns.filter((turn) => MODEL_ROLES.includes(turn?.role)) : [];
  return names(body, KEPT) || names(answers, protocol.stateFields);
}

/** Whether a text stands under one of the names, at any depth. */
function names(value: Json, wanted: readonly string[]): boolean {
  if (Array.isArray(value)) return value.some((item) => names(item, wanted));
  if (!isObject(value)) return false;
  return Object.entries(value).some(([name, inner]) =>
    typeof inner === 'string' ? inner !== '' && wanted.includes(name) : names(inner, wanted),
  );
}
