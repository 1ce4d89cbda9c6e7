/** Finish reasons of the messages protocol, in both directions. */

import type { Finish, FinishReason, OpenPart } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isBlank, isObject, type Json, parseObject } from '../../core/json/json.ts';
import { isWritten } from '../../core/parts.ts';
import { lookUp } from '../../core/plain-objects.ts';

const REASONS: Record<string, FinishReason> = {
  end_turn: 'stop',
  stop_sequence: 'stop-sequence',
  max_tokens: 'length',
  model_context_window_exceeded: 'context-full',
  tool_use: 'calls',
  refusal: 'refused',
  pause_turn: 'paused',
  compaction: 'paused',
};

/** The finish in a message or in the delta of a `message_delta`; undefined while it has none. */
export function decodeFinish(wire: Json): Finish | undefined {
  const { stop_reason: raw, stop_sequence: stopSequence, stop_details: details } = wire ?? {};
  if (typeof raw !== 'string') return undefined;
  const finish: Finish = { reason: lookUp(REASONS, raw) ?? 'other', raw };
  if (typeof stopSequence === 'string' && finish.reason === 'stop-sequence') finish.stopSequence = stopSequence;
  if (isObject(details) && typeof details.explanation === 'string') finish.explanation = details.explanation;
  if (isObject(details) && typeof details.category === 'string') finish.category = details.category;
  return finish;
}

/** Facts of the answer's parts that determine its finish reason. */
export interface Seen {
  /** Visible content. */
  content: boolean;
  refusal: boolean;
  calls: boolean;
  /** The arguments of a call are not JSON. */
  brokenCall: boolean;
  /** The last part that the model wrote is a call without arguments, of which the output limit may have cut them. */
  bareCall: boolean;
}

export function nothingSeen(): Seen {
  return { content: false, refusal: false, calls: false, brokenCall: false, bareCall: false };
}

/** Records a complete part; of one that is not shown, only its evidence about the call before it. */
export function see(seen: Seen, part: OpenPart, isShown: boolean): void {
  if (isWritten(part)) seen.bareCall = part.type === 'call' && !part.custom && isBlank(part.args);
  if (!isShown) return;
  seen.content = true;
  if (part.type === 'refusal') seen.refusal = true;
  if (part.type !== 'call') return;
  seen.calls = true;
  seen.brokenCall ||= !part.custom && parseObject(part.args) === undefined;
}

/** `stop_reason`, `stop_sequence` and `stop_details`. Throws `upstream_error` for a failure reason. */
export function encodeFinish(finish: Finish, seen: Seen): Json {
  const reason = stopReason(finish, seen);
  const wire: Json = { stop_reason: reason, stop_sequence: null };
  if (reason === 'stop_sequence') wire.stop_sequence = finish.stopSequence;
  if (reason === 'refusal') {
    const explanation = finish.explanation ?? null;
    wire.stop_details = { type: 'refusal', category: finish.category ?? null, explanation };
  }
  return wire;
}

function stopReason(finish: Finish, seen: Seen): string {
  switch (finish.reason) {
    case 'filtered':
    case 'refused':
    case 'blocked':
      return 'refusal';
    case 'paused':
      return 'pause_turn';
    case 'length':
    case 'context-full':
    case 'continuation':
      if (seen.calls && !seen.brokenCall && !seen.bareCall) return 'tool_use';
      return finish.reason === 'context-full' ? 'model_context_window_exceeded' : 'max_tokens';
    case 'malformed':
      throw abnormal(finish);
    case 'other':
      if (!seen.content && finish.raw === undefined) throw abnormal(finish);
      break;
    case 'stop-sequence':
      if (!seen.calls && finish.stopSequence !== undefined) return 'stop_sequence';
      break;
    case 'stop':
    case 'calls':
      break;
  }
  if (seen.brokenCall) throw abnormal(finish);
  if (seen.calls) return 'tool_use';
  return seen.refusal ? 'refusal' : 'end_turn';
}

function abnormal(finish: Finish): GatewayError {
  const word = finish.raw ? ` (${finish.raw})` : '';
  return new GatewayError('upstream_error', `The model's answer is malformed${word}.`);
}
