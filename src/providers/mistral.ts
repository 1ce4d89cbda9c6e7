/** Mistral: refuses unknown fields, renames a few, and requires tool call ids of nine characters. */

import { createHash } from 'node:crypto';
import type { Json } from '../core/json/json.ts';
import {
  allowedTools,
  EXTENSIONS,
  OPENAI_ONLY,
  reasoningAsEffort,
  renamed,
  without,
  withoutNulls,
} from './dialect/fields.ts';
import {
  callsOf,
  markedPrefill,
  messagesOf,
  partsOf,
  plainHistory,
  withoutCacheMarks,
  withoutNames,
} from './dialect/messages.ts';
import { applyRules } from './dialect/rules.ts';
import { type DialectStep, dialect, removeField, setField } from './dialect/step.ts';
import { chatServer } from './type.ts';

const forcedAsAny: DialectStep = (body, _rules, result) => {
  if (body.tool_choice === 'required') setField(body, 'tool_choice', 'any', result);
};

const SHORT_ID_PATTERN = /^[a-zA-Z0-9]{9}$/;
const SHORT_ID_ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Deterministic short id, so that a call and its result still match, across requests too. */
function shortId(id: Json): Json {
  if (typeof id !== 'string' || SHORT_ID_PATTERN.test(id)) return id;
  const digest = createHash('sha256').update(id).digest();
  return Array.from(digest.subarray(0, 9), (byte) => SHORT_ID_ALPHABET[byte % SHORT_ID_ALPHABET.length]).join('');
}

const shortCallIds: DialectStep = (body, _rules, result) => {
  for (const message of messagesOf(body)) {
    if (message.tool_call_id !== undefined) setField(message, 'tool_call_id', shortId(message.tool_call_id), result);
    for (const call of callsOf(message)) if (call.id !== undefined) setField(call, 'id', shortId(call.id), result);
  }
};

/** Inline files become `document_url` parts; files by id stay unchanged. */
const filesAsDocuments: DialectStep = (body, _rules, result) => {
  for (const part of messagesOf(body).flatMap(partsOf)) {
    if (part.type !== 'file' || part.file?.file_data === undefined) continue;
    setField(part, 'type', 'document_url', result);
    setField(part, 'document_url', part.file.file_data, result);
    if (part.file.filename) setField(part, 'document_name', part.file.filename, result);
    removeField(part, 'file', result);
  }
};

export const mistral = chatServer({
  id: 'mistral',
  name: 'Mistral',
  environment: ['MISTRAL_API_KEY'],
  baseUrl: 'https://api.mistral.ai/v1',
  catalog: 'mistral',
  rules: { tokenField: 'max_tokens', systemRole: 'system' },
  adapt: dialect(
    reasoningAsEffort,
    allowedTools,
    applyRules,
    renamed('seed', 'random_seed'),
    without(...EXTENSIONS, ...OPENAI_ONLY, 'logit_bias', 'service_tier', 'user'),
    withoutNulls,
    forcedAsAny,
    plainHistory(),
    withoutNames,
    withoutCacheMarks,
    filesAsDocuments,
    shortCallIds,
    markedPrefill('prefix'),
  ),
});
