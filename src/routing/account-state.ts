/** Account state: encrypted reasoning, files and caches that only the account that issued them can read. */

import { isObject, type Json } from '../core/json/json.ts';
import type { InferenceCall } from './inference-call.ts';

/** Fields that reference files and caches of an account. */
const ACCOUNT_FIELDS = ['file_id', 'fileUri', 'file_uri', 'cachedContent', 'cached_content'];

/** Whether a body refers to files, caches or reasoning that only the issuing account can read. */
export function hasAccountState({ body, operation }: Pick<InferenceCall, 'body' | 'operation'>): boolean {
  const { state } = operation;
  return refersToFiles(body) || (state !== undefined && containsField(state.modelTurns(body), state.fields));
}

/** Whether a body refers to files or caches of an account: a client may name those of another one. */
export function refersToFiles(body: Json): boolean {
  return containsField(body, ACCOUNT_FIELDS);
}

/** True if a field with one of the names has a non-empty text, at any depth. */
function containsField(value: Json, wanted: readonly string[]): boolean {
  if (Array.isArray(value)) return value.some((item) => containsField(item, wanted));
  if (!isObject(value)) return false;
  return Object.entries(value).some(([name, inner]) =>
    typeof inner === 'string' ? inner !== '' && wanted.includes(name) : containsField(inner, wanted),
  );
}
