/** Chat completions of OpenAI's models, Mistral's and open models, at any server of them: their rules and steps. */

import { createHash } from 'node:crypto';
import type { ModelRules } from '../../core/model.ts';
import { shortCallId } from '../../core/results.ts';
import { allowedTools, EXTENSIONS, OPENAI_ONLY, reasoningAsEffort, renamed, without, withoutNulls } from './fields.ts';
import {
  callIds,
  markedPrefill,
  mergeSystemTurns,
  messagesOf,
  partsOf,
  plainHistory,
  withoutCacheMarks,
  withoutImageDetail,
  withoutNames,
} from './messages.ts';
import { applyRules } from './rules.ts';
import { type DialectStep, dialect, removeField, setField } from './step.ts';

/** One system turn at the start, no nulls. */
export const openModels: readonly DialectStep[] = [
  withoutNulls,
  mergeSystemTurns,
  withoutImageDetail,
  reasoningAsEffort,
  allowedTools,
  applyRules,
];

/** Rules of the newest reasoning models of OpenAI; the catalog relaxes them for others. */
export const OPENAI_RULES: ModelRules = {
  tokenField: 'max_completion_tokens',
  systemRole: 'developer',
  sampling: 'without-reasoning',
  penalties: false,
  logprobs: false,
  logitBias: false,
  embeddingTokens: true,
};

/** Every model accepts the newer field names, so the older names in the rules of older models do not patch a request. */
const applyRulesKeepingNewNames: DialectStep = (body, rules, result) => {
  const { systemRole, tokenField, ...others } = rules;
  applyRules(body, tokenField === 'max_tokens' ? others : { ...others, tokenField }, result);
};

/** Unknown fields are refused at the top level and ignored inside messages, so the history stays unchanged, apart from long ids. */
export const adaptOpenai = dialect(
  reasoningAsEffort,
  without(...EXTENSIONS),
  applyRulesKeepingNewNames,
  callIds(shortCallId),
);

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

export const adaptMistral = dialect(
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
);
