/** Finish reasons of chat completions and its dialects. */

import type { CallPart, Finish, FinishReason } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isBlank, type Json, parseObject } from '../../core/json/json.ts';
import { lookUp } from '../../core/plain-objects.ts';

const REASONS: Record<string, FinishReason> = {
  stop: 'stop',
  eos: 'stop',
  length: 'length',
  model_length: 'context-full',
  tool_calls: 'calls',
  function_call: 'calls',
  content_filter: 'filtered',
};

/** Wire names. An unknown reason becomes `stop`, beside the upstream's own reason. */
const NAMES: Record<Exclude<FinishReason, 'malformed' | 'calls'>, string> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'context-full': 'length',
  filtered: 'content_filter',
  refused: 'content_filter',
  blocked: 'content_filter',
  paused: 'length',
  continuation: 'length',
  other: 'stop',
};

/** Reasons after which all calls are complete. */
const NATURAL: readonly FinishReason[] = ['stop', 'stop-sequence', 'calls', 'other'];

/** Undefined while the choice continues; a whole response without a reason has ended. Throws for failure reasons. */
export function decodeFinish(choice: Json, whole: boolean): Finish | undefined {
  const reported = choice.finish_reason || undefined;
  const raw = reported ?? (whole ? 'stop' : undefined);
  if (typeof raw !== 'string') return undefined;
  if (raw === 'error') throw new GatewayError('upstream_error', 'The provider failed while it answered.');
  if (raw === 'insufficient_system_resource') {
    throw new GatewayError('overloaded', 'The provider ran out of resources while it answered.');
  }
  const stopSequence = [choice.stop_reason, choice.matched_stop].find((value) => typeof value === 'string');
  if (raw === 'stop' && stopSequence) return { reason: 'stop-sequence', raw, stopSequence };
  return { reason: lookUp(REASONS, raw) ?? 'other', raw: choice.native_finish_reason ?? reported };
}

/** Calls and refusals among the parts take precedence over the upstream's reason. */
export function settleFinish(finish: Finish, seen: { calls: boolean; refusal: boolean }): Finish {
  const isPlain = finish.reason === 'stop' || finish.reason === 'stop-sequence' || finish.reason === 'other';
  if (seen.calls && isPlain) return { ...finish, reason: 'calls', stopSequence: undefined };
  if (seen.refusal && (isPlain || finish.reason === 'filtered')) return { ...finish, reason: 'refused' };
  return finish;
}

/** Reasons after which the last call is truncated if it has no arguments yet. */
const LIMITED: readonly FinishReason[] = ['length', 'context-full'];

/**
 * The finish members of a choice. Calls yield `tool_calls` regardless of the reported reason, unless they are truncated with
 * their answer. A refusal in words ends as an answer does: SDKs raise an error for `content_filter`, and hide the words. Throws
 * `upstream_error` for a malformed answer, which this protocol cannot represent.
 */
export function encodeFinish(
  finish: Finish,
  { calls, hasRefusal }: { calls: Pick<CallPart, 'args' | 'custom'>[]; hasRefusal: boolean },
): Json {
  const complete = calls.every((call) => call.custom || parseObject(call.args) !== undefined);
  if (finish.reason === 'malformed' || (!complete && NATURAL.includes(finish.reason))) {
    throw new GatewayError('upstream_error', 'The model wrote a malformed answer.');
  }
  const last = calls.at(-1);
  const isCut = LIMITED.includes(finish.reason) && last !== undefined && !last.custom && isBlank(last.args);
  const reason = finish.reason === 'calls' || (finish.reason === 'refused' && hasRefusal) ? 'stop' : finish.reason;
  const name = calls.length > 0 && complete && !isCut ? 'tool_calls' : NAMES[reason];
  return {
    finish_reason: name,
    ...(finish.raw !== undefined && finish.raw !== name && { native_finish_reason: finish.raw }),
  };
}
