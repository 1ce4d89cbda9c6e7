/** Content encoder: converts turns to contents with alternating roles, and puts results directly after their calls. */

import type { CallPart, Opaque, Part, ResultPart, Turn } from '../../core/chat.ts';
import { customArguments, readArguments } from '../../core/custom-tool.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import type { TextBudget } from '../../core/json/scan.ts';
import { ownState } from '../../core/opaque.ts';
import type { Target } from '../../core/operation.ts';
import { encodeMedia } from './media-encoder.ts';
import { encodeResult } from './result-encoder.ts';
import { NO_SIGNATURE } from './state.ts';

interface Content {
  role: 'user' | 'model';
  parts: Json[];
}

/** The target, and the hub names of members dropped so far. */
export interface ContentEncoding extends Target {
  dropped: Set<string>;
  /** Values that results may have which are sent as objects. */
  results: TextBudget;
}

/** Placeholder for a required user turn. */
const FILLER = { text: '.' };

/** Throws `invalid_request` for a result without a call. */
export function encodeContents(turns: Turn[], target: ContentEncoding): Content[] {
  const contents: Content[] = [];
  let calls: CallPart[] = [];
  for (const { role, parts } of merged(turns)) {
    const encoded = role === 'model' ? encodeModelParts(parts, target) : encodeUserParts(parts, calls, target);
    calls = role === 'model' ? [...calls, ...parts.filter((part) => part.type === 'call')] : [];
    if (encoded.length === 0) continue;
    const last = contents.at(-1);
    if (last?.role === role) last.parts.push(...encoded);
    else contents.push({ role, parts: encoded });
  }
  if (calls.length > 0) contents.push({ role: 'user', parts: encodeUserParts([], calls, target) });
  if (contents[0]?.role !== 'user') contents.unshift({ role: 'user', parts: [FILLER] });
  if (target.rules.reasoning === undefined || target.rules.reasoning === 'level') signCalls(contents);
  return contents;
}

/** Later system turns become user content. */
function merged(turns: Turn[]): { role: Content['role']; parts: Part[] }[] {
  const result: { role: Content['role']; parts: Part[] }[] = [];
  for (const turn of turns) {
    const role = turn.role === 'assistant' ? 'model' : 'user';
    const last = result.at(-1);
    if (last?.role === role) last.parts.push(...turn.parts);
    else result.push({ role, parts: [...turn.parts] });
  }
  return result;
}

/** Results first and in the order of their calls, with errors for missing results, then the rest. */
function encodeUserParts(parts: Part[], calls: CallPart[], target: ContentEncoding): Json[] {
  const results = parts.filter((part) => part.type === 'result');
  // Of several results of one call the first counts.
  const byCall = new Map(results.toReversed().map((result) => [result.callId, result]));
  const answered = calls.map((call): [ResultPart, CallPart] => [byCall.get(call.id) ?? missing(call), call]);
  const made = new Set(calls.map(({ id }) => id));
  for (const result of results) {
    if (made.has(result.callId)) continue;
    const message = `A tool result refers to the call ${JSON.stringify(result.callId)}, which the assistant turn before it did not make.`;
    throw new GatewayError('invalid_request', message, { param: 'turns' });
  }
  const encoded = answered.map(([result, call]) => encodeResult(result, call.name, target));
  return [
    ...encoded.map(({ response }) => response),
    ...encoded.flatMap(({ siblings }) => siblings),
    ...parts.flatMap((part) => (part.type === 'result' ? [] : encodePart(part, target))),
  ];
}

function missing({ id }: CallPart): ResultPart {
  return {
    type: 'result',
    callId: id,
    parts: [{ type: 'text', text: 'The tool was not run: no result is known.' }],
    isError: true,
  };
}

/**
 * State that another protocol could only hang on a thought moves to the call or text after it, where it came from; at the
 * end of a turn it stands on an empty text, as it does in streams.
 */
function encodeModelParts(parts: Part[], target: ContentEncoding): Json[] {
  const result: Json[] = [];
  let waiting: Opaque | undefined;
  for (const [index, part] of parts.entries()) {
    const own = 'opaque' in part ? ownState(part.opaque, target.origin) : undefined;
    if (part.type === 'reasoning') {
      const next = parts[index + 1];
      const carrier = next?.type === 'call' || next?.type === 'text';
      if (own && carrier && !ownState(next.opaque, target.origin)) waiting = own;
      else if (own) result.push({ text: part.text, ...(part.text && { thought: true }), thoughtSignature: own.value });
      continue;
    }
    const state = own ?? waiting;
    waiting = undefined;
    const encoded = encodePart(part, target, state !== undefined);
    if (state && encoded[0]) encoded[0].thoughtSignature = state.value;
    result.push(...encoded);
  }
  return result;
}

/** Wire parts of a part; an empty text is dropped, unless it is signed. */
function encodePart(part: Part, target: ContentEncoding, signed = false): Json[] {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text === '' && !signed ? [] : [{ text: part.text }];
    case 'media':
      return [encodeMedia(part, target.rules)];
    case 'call':
      return [{ functionCall: { id: part.id, name: part.name, args: argsOf(part, target) } }];
    case 'native':
      return part.protocol === 'generate' ? [part.value] : [];
    case 'reasoning':
    case 'result':
      return [];
  }
}

/** Invalid arguments of an earlier turn become empty, so that the conversation can continue. */
function argsOf(call: CallPart, { dropped }: ContentEncoding): Json {
  if (call.custom) return customArguments(call);
  const args = readArguments(call.args);
  if (args === undefined) dropped.add('turns.parts.arguments');
  return args ?? {};
}

/**
 * Within the current turn, which begins with the user's last own words, the first call of every step must be signed.
 * Calls of other models, and calls without a signature, get the placeholder signature.
 */
function signCalls(contents: Content[]): void {
  const start = contents.findLastIndex(({ role, parts }) => role === 'user' && !parts[0]?.functionResponse);
  for (const { role, parts } of contents.slice(start + 1)) {
    const call = role === 'model' ? parts.find((part) => part.functionCall) : undefined;
    if (call) call.thoughtSignature ??= NO_SIGNATURE;
  }
}
