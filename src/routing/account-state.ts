/** What ties a conversation to the account that answered it: reasoning that only that account can read again, and its files. */

import { isObject, type Json } from '../core/json/json.ts';
import type { InferenceCall } from './inference-call.ts';

/** Where requests name files and caches that an account keeps. */
const ACCOUNT_FIELDS = ['file_id', 'fileUri', 'file_uri', 'cachedContent', 'cached_content'];

export function hasAccountState({ body, operation }: Pick<InferenceCall, 'body' | 'operation'>): boolean {
  const { state } = operation;
  return (
    containsField(body, ACCOUNT_FIELDS) || (state !== undefined && containsField(state.modelTurns(body), state.fields))
  );
}

/** Whether a text stands under one of the names, at any depth. */
function containsField(value: Json, wanted: readonly string[]): boolean {
  if (Array.isArray(value)) return value.some((item) => containsField(item, wanted));
  if (!isObject(value)) return false;
  return Object.entries(value).some(([name, inner]) =>
    typeof inner === 'string' ? inner !== '' && wanted.includes(name) : containsField(inner, wanted),
  );
}
