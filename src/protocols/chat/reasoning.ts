/**
 * Reasoning and the state behind it. `reasoning_details` carries both; its entries are kept whole as JSON in the hub's
 * opaque value, without their text, because their owner requires them unmodified.
 */

import type { CallPart, Opaque, ReasoningPart } from '../../core/chat.ts';
import { isObject, type Json, parseObject } from '../../core/json/json.ts';
import { ownState, unwrap, wrap } from '../../core/opaque.ts';

/** `id` of the entry with the state of the answer's text. */
export const TEXT_STATE = 'content';

/** Text and state of one entry that an upstream sent. */
export function decodeDetail(detail: Json, origin: string): { text: string; opaque?: Opaque; whole: boolean } {
  const { text, summary, ...rest } = detail;
  const whole = rest.data !== undefined;
  const opaque: Opaque | undefined =
    whole || rest.signature
      ? { kind: whole ? 'encrypted' : 'signature', value: JSON.stringify(rest), origin }
      : undefined;
  return { text: text ?? summary ?? '', opaque, whole };
}

/** The entry as its owner sent it. */
export function encodeOwnDetail(text: string, opaque: Opaque): Json {
  const rest = parseObject(opaque.value);
  if (!rest || opaque.value === '') {
    if (opaque.kind === 'signature') return { type: 'reasoning.text', text, signature: opaque.value };
    return { type: 'reasoning.encrypted', data: opaque.value };
  }
  if (text === '') return rest;
  return rest.type === 'reasoning.summary' ? { ...rest, summary: text } : { ...rest, text };
}

/** The details that belong to `origin` among an assistant's reasoning. */
export function ownDetails(parts: ReasoningPart[], origin: string): Json[] {
  return parts.flatMap(({ text, opaque }) => {
    const own = ownState(opaque, origin);
    return own ? [encodeOwnDetail(text, own)] : [];
  });
}

/**
 * Reasoning in an assistant message of a client. State of a call or of the text is separated by id. A
 * signature without its text is unusable and dropped.
 */
export function decodeHistory(message: Json): { parts: ReasoningPart[]; states: Map<string, Opaque> } {
  const parts: ReasoningPart[] = [];
  const states = new Map<string, Opaque>();
  const details: Json[] = Array.isArray(message.reasoning_details) ? message.reasoning_details.filter(isObject) : [];
  let open: { part: ReasoningPart; index: unknown } | undefined;
  for (const detail of details) {
    const { text, whole, opaque: raw } = decodeDetail(detail, '');
    const opaque = unwrap(detail.signature ?? detail.data) ?? (raw && { ...raw, origin: undefined });
    if (whole) {
      if (opaque?.origin && opaque.kind === 'signature') states.set(String(detail.id), opaque);
      else parts.push({ type: 'reasoning', text: '', opaque });
      continue;
    }
    const continues = open && open.index === detail.index;
    if (!continues && opaque && detail.text === undefined && detail.summary === undefined) continue;
    if (!open || !continues) {
      open = { part: { type: 'reasoning', text: '' }, index: detail.index };
      parts.push(open.part);
    }
    open.part.text += text;
    if (!opaque) continue;
    open.part.opaque = opaque;
    open = undefined;
  }
  const text = message.reasoning_content || message.reasoning;
  if (typeof text === 'string' && text !== '' && parts.every((part) => part.text === '')) {
    parts.unshift({ type: 'reasoning', text });
  }
  return { parts, states };
}

/** `extra_content` of a call that carries state; it survives clients that drop unknown fields of messages. */
export function encodeCallState(opaque: Opaque | undefined, spell: (opaque: Opaque) => string = wrap): Json {
  return opaque ? { extra_content: { google: { thought_signature: spell(opaque) } } } : {};
}

/** Thought signature of a tool call, as Gemini sends it in this protocol. */
export function callSignature(holder: Json): string | undefined {
  const signature = holder?.extra_content?.google?.thought_signature;
  return typeof signature === 'string' && signature !== '' ? signature : undefined;
}

/** State of a call in a client's message: wrapped by the gateway, or raw and of unknown origin. */
export function decodeCallState(call: Json, states: Map<string, Opaque>): Pick<CallPart, 'opaque'> {
  const signature = callSignature(call);
  const opaque = signature
    ? (unwrap(signature) ?? { kind: 'signature' as const, value: signature })
    : states.get(call.id);
  return opaque ? { opaque } : {};
}

/** State of a part other than reasoning, for clients that return `reasoning_details`; `index` is its position there. */
export function encodeStateDetail(opaque: Opaque, id: string, index: number): Json {
  return { type: 'reasoning.encrypted', data: wrap(opaque), id, index };
}

/** A signature that closes the entry `index`, or state that stands alone. `text` is given when no fragment came before. */
export function encodeDetail(opaque: Opaque, index: number, text?: string): Json {
  if (opaque.kind !== 'signature') return { type: 'reasoning.encrypted', data: wrap(opaque), index };
  return { type: 'reasoning.text', ...(text !== undefined && { text }), signature: wrap(opaque), index };
}
