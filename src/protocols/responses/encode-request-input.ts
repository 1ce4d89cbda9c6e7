/** Conversation of a request as the instructions and input items for an upstream. */

import type { CallPart, Part, ResultPart, TextPart, Turn } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { encodeAnswer } from './encode-request-answer.ts';
import { createCallIds } from './encode-request-ids.ts';
import { encodeContent, type InputEncoding, marked } from './encode-request-parts.ts';

export interface EncodedInput {
  /** The system text, if all of it stands at the beginning. */
  instructions?: string;
  input: Json[];
}

/** Turns of the assistant, and those up to the next answer. */
interface Exchange {
  answer: Turn[];
  next: Turn[];
}

const NO_RESULT = 'Error: the tool call was not answered.';

export function encodeInput(turns: readonly Turn[], encoding: InputEncoding): EncodedInput {
  const system = turns.filter(({ role }) => role === 'system');
  const others = turns.filter(({ role }) => role !== 'system');
  if (!isInstruction(turns, system, encoding)) return { input: encodeTurns(turns, encoding) };
  const texts = system.flatMap(({ parts }) => textsIn(parts));
  for (const { cache } of texts) marked(cache, encoding);
  const instructions = texts.map(({ text }) => text).join('\n\n');
  return { ...(instructions !== '' && { instructions }), input: encodeTurns(others, encoding) };
}

/** Whether the system text is the instructions: it stands before other input or may only stand there, and has no breakpoint to keep. */
function isInstruction(turns: readonly Turn[], system: readonly Turn[], encoding: InputEncoding): boolean {
  const { rules } = encoding.target;
  if (system.length === turns.length) return false;
  if (rules.midSystem === false) return true;
  if (encoding.inPlace) return false;
  const isMarked =
    rules.cacheMarks !== undefined && system.some(({ parts }) => textsIn(parts).some(({ cache }) => cache));
  return !isMarked && system.every((turn, index) => turns[index] === turn);
}

function textsIn(parts: readonly Part[]): TextPart[] {
  return parts.filter((part): part is TextPart => part.type === 'text' && part.text !== '');
}

function encodeTurns(turns: readonly Turn[], encoding: InputEncoding): Json[] {
  const nameCall = createCallIds();
  const input = exchangesOf(turns).flatMap(({ answer, next }) => {
    const calls = answer.flatMap(({ parts }) => parts).filter((part) => part.type === 'call');
    const callIds = new Map(calls.map(({ id }) => [id, nameCall(id)]));
    const results = resultsIn(next, callIds);
    const outputs = calls.map((call) => encodeOutput(call, results.get(call.id), { callIds, encoding }));
    return [
      ...encodeAnswer(answer, callIds, encoding),
      ...outputs,
      ...next.flatMap((turn) => encodeMessage(turn, encoding)),
    ];
  });
  // An empty list is refused, and an empty text is not.
  return input.length > 0 ? input : [{ type: 'message', role: 'user', content: '' }];
}

function exchangesOf(turns: readonly Turn[]): Exchange[] {
  const exchanges: Exchange[] = [];
  for (const turn of turns) {
    const last = exchanges.at(-1);
    if (turn.role === 'assistant') {
      if (last?.next.length === 0) last.answer.push(turn);
      else exchanges.push({ answer: [turn], next: [] });
    } else if (last) last.next.push(turn);
    else exchanges.push({ answer: [], next: [turn] });
  }
  return exchanges;
}

/** The results of an answer's calls, by the client's ids of the calls. */
function resultsIn(turns: readonly Turn[], callIds: ReadonlyMap<string, string>): Map<string, ResultPart> {
  const results = new Map<string, ResultPart>();
  for (const part of turns.flatMap(({ parts }) => parts)) {
    if (part.type !== 'result') continue;
    if (!callIds.has(part.callId)) throw misplaced(part);
    results.set(part.callId, part);
  }
  return results;
}

function misplaced({ callId }: ResultPart): GatewayError {
  const message = `The result of tool call "${callId}" doesn't follow the turn that makes this call.`;
  return new GatewayError('invalid_request', message, { param: 'turns' });
}

function encodeOutput(
  call: CallPart,
  result: ResultPart | undefined,
  { callIds, encoding }: { callIds: ReadonlyMap<string, string>; encoding: InputEncoding },
): Json {
  const isCustom = call.custom && encoding.target.rules.customTools !== false;
  return {
    type: isCustom ? 'custom_tool_call_output' : 'function_call_output',
    call_id: callIds.get(call.id) ?? call.id,
    output: result ? outputOf(result, encoding) : NO_RESULT,
  };
}

/** A text, or a list where it holds media or a breakpoint. */
function outputOf(result: ResultPart, encoding: InputEncoding): Json {
  const content = result.parts.flatMap((part) => encodeContent(part, encoding));
  const last = content.at(-1);
  if (last) Object.assign(last, marked(result.cache, encoding));
  else if (result.cache) encoding.dropped.add('cache');
  if (result.isError) content.unshift({ type: 'input_text', text: 'Error:' });
  const isText = content.every(({ type, ...rest }) => type === 'input_text' && Object.keys(rest).length === 1);
  if (!isText) return content;
  const text = content.map((part) => part.text).join('\n');
  return result.isError ? text.replace('Error:\n', 'Error: ') : text;
}

/** A turn without its results. */
function encodeMessage({ role, parts }: Turn, encoding: InputEncoding): Json[] {
  const content = parts.flatMap((part) => encodeContent(part, encoding));
  const [only] = content;
  if (content.length === 0) return [];
  const isText = content.length === 1 && only.type === 'input_text' && Object.keys(only).length === 2;
  const speaker = role === 'system' ? (encoding.target.rules.systemRole ?? 'developer') : role;
  return [{ type: 'message', role: speaker, content: isText ? only.text : content }];
}
