/** Whole responses: decoded as a stream of one chunk, encoded part by part. */

import type { ChatCandidate, ChatResponse, Finish, MediaPart, OpenPart } from '../../core/chat.ts';
import { readArguments } from '../../core/custom-tool.ts';
import { GatewayError } from '../../core/errors.ts';
import { fold } from '../../core/fold.ts';
import { isBlank, type Json, parseObject } from '../../core/json/json.ts';
import { wrap } from '../../core/opaque.ts';
import type { EncoderOptions, Target } from '../../core/operation.ts';
import { isWritten } from '../../core/parts.ts';
import { encodeCitations, type PlacedCitation } from './citations.ts';
import { encodeBlock, encodeFinish } from './finish.ts';
import { encodeLogprobs } from './logprobs.ts';
import { mimeOfData } from './media-encoder.ts';
import { createChunkDecoder } from './stream-decoder.ts';
import { encodeUsage } from './usage.ts';

export function decodeResponse(body: Json, target: Target): ChatResponse {
  const decoder = createChunkDecoder(target);
  return fold([...decoder.decode(body), ...decoder.end()]);
}

export function encodeResponse(response: ChatResponse, options: EncoderOptions): Json {
  const [first] = response.candidates;
  const blocked = first?.finish.reason === 'blocked';
  return {
    ...(blocked
      ? { promptFeedback: encodeBlock(first.finish) }
      : { candidates: response.candidates.map((candidate, index) => encodeCandidate(candidate, index, options)) }),
    ...(response.usage && { usageMetadata: encodeUsage(response.usage) }),
    modelVersion: options.model,
    ...(response.id !== '' && { responseId: response.id }),
  };
}

function encodeCandidate({ parts, finish }: ChatCandidate, index: number, options: EncoderOptions): Json {
  const last = parts.findLast(isWritten);
  const isCutBare = (part: OpenPart) => part === last && isBare(part) && isLimited(finish);
  const whole = parts.filter((part) => !isCutOff(part, finish) && !isCutBare(part));
  const encoded = joinedTexts(whole.flatMap((part) => encodePart(part, options)));
  const texts = parts.filter((part) => part.type === 'text' || part.type === 'refusal');
  const placed: PlacedCitation[] = [];
  let text = '';
  for (const part of texts) {
    const found = part.type === 'text' ? (part.citations ?? []) : [];
    placed.push(...found.map((citation) => ({ citation, offset: text.length, length: part.text.length })));
    text += part.text;
  }
  const grounding = encodeCitations(placed, text);
  const logprobs = texts.flatMap((part) => (part.type === 'text' ? (part.logprobs ?? []) : []));
  return {
    content: { role: 'model', parts: encoded },
    ...encodeFinish(finish),
    index,
    ...(grounding && { groundingMetadata: grounding }),
    ...(logprobs.length > 0 && { logprobsResult: encodeLogprobs(logprobs) }),
  };
}

/** One part for each run of text; a signature ends its run. */
function joinedTexts(parts: Json[]): Json[] {
  const result: Json[] = [];
  for (const part of parts) {
    const last = result.at(-1);
    const joins = isPlainText(last) && typeof part.text === 'string' && !part.thought;
    if (joins) result[result.length - 1] = { ...part, text: last.text + part.text };
    else result.push(part);
  }
  return result;
}

function isPlainText(part: Json): boolean {
  return typeof part?.text === 'string' && !part.thought && !part.thoughtSignature;
}

/** Whether the output limit ended an answer. */
export function isLimited({ reason }: Finish): boolean {
  return reason === 'length' || reason === 'context-full';
}

/** Whether a call was truncated by the output limit; partial objects cannot be represented. */
export function isCutOff(part: OpenPart, finish: Finish): boolean {
  return isLimited(finish) && part.type === 'call' && !part.custom && parseObject(part.args) === undefined;
}

/** A call without arguments, which the output limit may have cut off if the model wrote nothing behind it. */
export function isBare(part: OpenPart): boolean {
  return part.type === 'call' && !part.custom && isBlank(part.args);
}

/** No part, or one; throws `upstream_error` for a call whose arguments are not an object. */
export function encodePart(part: OpenPart, options: Pick<EncoderOptions, 'hideReasoning'>): Json[] {
  const opaque = 'opaque' in part && part.opaque ? { thoughtSignature: wrap(part.opaque) } : undefined;
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text === '' && !opaque ? [] : [{ text: part.text, ...opaque }];
    case 'reasoning': {
      const text = options.hideReasoning ? '' : part.text;
      return text === '' && !opaque ? [] : [{ text, thought: true, ...opaque }];
    }
    case 'call': {
      const call = encodeCall(part);
      if (call) return [call];
      throw new GatewayError(
        'upstream_error',
        `The model called ${part.name} with arguments that are not a JSON object.`,
      );
    }
    case 'media':
      return encodeMedia(part).map((encoded) => ({ ...encoded, ...opaque }));
    case 'native':
      return part.protocol === 'generate' ? [part.value] : [];
  }
}

/** Undefined for a call whose arguments are not an object. */
export function encodeCall({ id, name, args, custom, opaque }: Extract<OpenPart, { type: 'call' }>): Json {
  const value = custom ? { input: args } : readArguments(args);
  return value && { functionCall: { id, name, args: value }, ...(opaque && { thoughtSignature: wrap(opaque) }) };
}

function encodeMedia(part: MediaPart): Json[] {
  const { mime, data, url, text } = part;
  if (data !== undefined) return [{ inlineData: { mimeType: mimeOfData(part), data } }];
  if (url !== undefined) return [{ fileData: { fileUri: url, ...(mime && { mimeType: mime }) } }];
  return text ? [{ text }] : [];
}
