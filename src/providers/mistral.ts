/** Mistral: refuses unknown fields, renames a few, and requires tool call ids of nine characters. */

import { createHash } from 'node:crypto';
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
  callIds,
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
function shortId(id: string): string {
  if (SHORT_ID_PATTERN.test(id)) return id;
  const digest = createHash('sha256').update(id).digest();
  return Array.from(digest.subarray(0, 9), (byte) => SHORT_ID_ALPHABET[byte % SHORT_ID_ALPHABET.length]).join('');
}

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
    callIds(shortId),
    markedPrefill('prefix'),
  ),
});
