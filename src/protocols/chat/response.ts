/** Whole responses of chat completions. */

import type { ChatCandidate, ChatResponse, FinishReason, OpenPart } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { fold } from '../../core/fold.ts';
import { isBlank, type Json } from '../../core/json/json.ts';
import type { EncoderOptions, Target } from '../../core/operation.ts';
import { isWritten } from '../../core/parts.ts';
import { answerId, encodeCall, encodeLogprobs, encodeMedia } from './answer.ts';
import { encodeCitations } from './citations.ts';
import { encodeFinish } from './finish.ts';
import { encodeDetail, encodeStateDetail, TEXT_STATE } from './reasoning.ts';
import { createChunkDecoder } from './stream-decoder.ts';
import { encodeTier, encodeUsage } from './usage.ts';

/** Throws the error inside a 200 body, and `upstream_error` for a body without choices. */
export function decodeResponse(body: Json, target: Target): ChatResponse {
  const chunks = createChunkDecoder(target, true);
  const events = chunks.push(body);
  return fold([...events, ...chunks.end(true)]);
}

export function checkAnswer({ choices }: Json): void {
  if (Array.isArray(choices) && choices.length > 0) return;
  throw new GatewayError('upstream_error', 'The upstream answered without any choice.');
}

export function encodeResponse(response: ChatResponse, options: EncoderOptions): Json {
  return {
    id: answerId(response.id),
    object: 'chat.completion',
    created: response.created ?? options.created,
    model: options.model,
    system_fingerprint: null,
    choices: response.candidates.map((candidate, index) => encodeCandidate(candidate, index, options)),
    usage: encodeUsage(response.usage, options.costOf),
    ...encodeTier(response.usage),
  };
}

/** Finish reasons of answers without content. */
const EMPTY_ANSWER_REASONS = new Set<FinishReason>(['blocked', 'refused', 'filtered']);

function encodeCandidate({ parts, finish }: ChatCandidate, index: number, options: EncoderOptions): Json {
  const calls = parts.filter((part) => part.type === 'call');
  const last = parts.findLast(isWritten);
  const tokens = parts.flatMap((part) => (part.type === 'text' ? (part.logprobs ?? []) : []));
  const text = textOf(parts);
  const refusal = parts.flatMap((part) => (part.type === 'refusal' ? [part.text] : [])).join('');
  const media = parts.filter((part) => part.type === 'media').map(encodeMedia);
  const images = media.flatMap((piece) => piece.images ?? []);
  const audio = media.find((piece) => piece.audio);
  const isSilent = calls.length > 0 || refusal !== '' || audio !== undefined || EMPTY_ANSWER_REASONS.has(finish.reason);
  const message = {
    role: 'assistant',
    content: text === '' && isSilent ? null : text,
    refusal: refusal || (finish.reason === 'refused' ? (finish.explanation ?? null) : null),
    ...encodeReasoning(parts, options),
    ...encodeCitations(citationsOf(parts)),
    ...(images.length > 0 && { images }),
    ...audio,
    ...(calls.length > 0 && { tool_calls: calls.map((call) => encodeCall(withArguments(call))) }),
  };
  return {
    index,
    message,
    logprobs: tokens.length > 0 ? encodeLogprobs(tokens) : null,
    // Only the last part that the model wrote may have lost its arguments to the output limit.
    ...encodeFinish(finish, {
      calls: calls.map((call) => (call === last ? call : withArguments(call))),
      hasRefusal: refusal !== '',
    }),
  };
}

/** A call without arguments has the empty object, so that its arguments are JSON. */
function withArguments<Call extends { args: string; custom?: boolean }>(call: Call): Call {
  return isBlank(call.args) && !call.custom ? { ...call, args: '{}' } : call;
}

function textOf(parts: OpenPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Converts citation offsets from the part to the whole content. */
function citationsOf(parts: OpenPart[]): Parameters<typeof encodeCitations>[0] {
  let start = 0;
  return parts.flatMap((part) => {
    if (part.type !== 'text') return [];
    const text = { start, length: part.text.length };
    start += part.text.length;
    return (part.citations ?? []).map((citation) => ({ citation, text }));
  });
}

/** `reasoning` and its alias for reading, `reasoning_details` to be handed back with the next request. */
function encodeReasoning(parts: OpenPart[], { hideReasoning }: EncoderOptions): Json {
  const details: Json[] = [];
  let reasoning = '';
  for (const part of parts) {
    const index = details.length;
    if (part.type === 'reasoning') {
      const text = hideReasoning ? '' : part.text;
      reasoning += text;
      const isHidden = text !== part.text && part.opaque?.kind === 'signature';
      if (part.opaque && !isHidden) details.push(encodeDetail(part.opaque, index, text));
      else if (text !== '') details.push({ type: 'reasoning.text', text, index });
    } else if (part.type === 'call' && part.opaque) details.push(encodeStateDetail(part.opaque, part.id, index));
    else if (part.type === 'text' && part.opaque) details.push(encodeStateDetail(part.opaque, TEXT_STATE, index));
  }
  return {
    ...(reasoning !== '' && { reasoning, reasoning_content: reasoning }),
    ...(details.length > 0 && { reasoning_details: details }),
  };
}

/** Media that this protocol has no place for, and pictures in a provider's own storage. */
export function unshown(part: OpenPart): { name: string; url?: string } | undefined {
  if (part.type !== 'media' || part.kind === 'audio') return undefined;
  if (part.kind === 'image' && (part.data !== undefined || part.url !== undefined)) return undefined;
  return { name: `message.${part.kind}`, ...(part.url && { url: part.url }) };
}
