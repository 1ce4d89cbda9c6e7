/** Finish reasons of generateContent, in both directions. */

import type { Finish, FinishReason } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';
import { lookUp } from '../../core/plain-objects.ts';

const REASONS: Record<string, FinishReason> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'filtered',
  RECITATION: 'filtered',
  LANGUAGE: 'filtered',
  BLOCKLIST: 'filtered',
  PROHIBITED_CONTENT: 'filtered',
  SPII: 'filtered',
  MODEL_ARMOR: 'filtered',
  ESCALATION: 'filtered',
  PUP_LIMITED_DISABLED: 'filtered',
  IMAGE_SAFETY: 'filtered',
  IMAGE_PROHIBITED_CONTENT: 'filtered',
  IMAGE_RECITATION: 'filtered',
  IMAGE_OTHER: 'filtered',
  CONTINUATION: 'continuation',
  MALFORMED_FUNCTION_CALL: 'malformed',
  MALFORMED_RESPONSE: 'malformed',
  UNEXPECTED_TOOL_CALL: 'malformed',
  TOO_MANY_TOOL_CALLS: 'malformed',
  MISSING_THOUGHT_SIGNATURE: 'malformed',
  NO_IMAGE: 'other',
  OTHER: 'other',
  FINISH_REASON_UNSPECIFIED: 'other',
};

/** Some servers write enums as numbers; the first ones mean the same everywhere. */
const NUMBERED = ['FINISH_REASON_UNSPECIFIED', 'STOP', 'MAX_TOKENS', 'SAFETY', 'RECITATION', 'OTHER'];

const BLOCK_REASONS = new Set([
  'SAFETY',
  'OTHER',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'IMAGE_SAFETY',
  'MODEL_ARMOR',
  'JAILBREAK',
]);

/**
 * Calls end with STOP on this wire, and a model that called is waiting for results whatever else it says. An answer that broke off
 * for an unknown reason keeps its content; one without content is an error.
 */
export function decodeFinish(candidate: Json, { called, spoke }: { called: boolean; spoke: boolean }): Finish {
  const { finishReason, finishMessage } = candidate;
  const raw =
    typeof finishReason === 'number' ? (NUMBERED[finishReason] ?? 'FINISH_REASON_UNSPECIFIED') : String(finishReason);
  const reason = raw === 'OTHER' && !spoke && !called ? 'malformed' : (lookUp(REASONS, raw) ?? 'other');
  if (called && (reason === 'stop' || reason === 'length' || reason === 'other')) return { reason: 'calls', raw };
  const finish: Finish = { reason, raw };
  if (reason === 'stop') return finish;
  if (typeof candidate.continuationToken === 'string') finish.token = candidate.continuationToken;
  if (typeof finishMessage === 'string') finish.explanation = finishMessage;
  const blocking = candidate.safetyRatings?.find?.((rating: Json) => rating?.blocked);
  if (blocking) finish.category = blocking.category;
  return finish;
}

/** A blocked prompt: the answer has no candidates. */
export function decodeBlock(feedback: Json): Finish {
  const finish: Finish = { reason: 'blocked', raw: String(feedback?.blockReason ?? 'BLOCK_REASON_UNSPECIFIED') };
  if (typeof feedback?.blockReasonMessage === 'string') finish.explanation = feedback.blockReasonMessage;
  return finish;
}

export function encodeFinish(finish: Finish): Json {
  const { explanation } = finish;
  return { finishReason: reasonName(finish), ...(explanation && { finishMessage: explanation }) };
}

function reasonName({ reason, raw }: Finish): string {
  const own = lookUp(REASONS, raw) === reason ? raw : undefined;
  switch (reason) {
    case 'stop':
    case 'stop-sequence':
    case 'calls':
      return 'STOP';
    case 'length':
    case 'context-full':
    case 'paused':
    case 'continuation':
      return 'MAX_TOKENS';
    case 'filtered':
    case 'refused':
    case 'blocked':
      return own ?? 'SAFETY';
    case 'malformed':
      return own ?? 'MALFORMED_RESPONSE';
    case 'other':
      return own ?? 'OTHER';
  }
}

export function encodeBlock({ raw, explanation }: Finish): Json {
  const blockReason = raw !== undefined && BLOCK_REASONS.has(raw) ? raw : 'SAFETY';
  return { blockReason, ...(explanation && { blockReasonMessage: explanation }) };
}
