/** Message encoder: converts turns to messages for an upstream. */

import type { CacheMark, CallPart, Part, ReasoningPart, ResultPart, TextPart, Turn } from '../../core/chat.ts';
import { writtenArguments } from '../../core/custom-tool.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { ownState } from '../../core/opaque.ts';
import type { Target } from '../../core/operation.ts';
import { shortCallId } from '../../core/results.ts';
import { documentText, encodeMedia } from './media.ts';
import { encodeCallState, ownDetails } from './reasoning.ts';
import { cacheControl } from './tools.ts';

/** Encoding context: the target, and the fields dropped so far. */
export interface Encoding {
  target: Target;
  dropped: Set<string>;
}

const NO_RESULT = 'Error: the tool call was not answered.';

export function encodeTurns(turns: Turn[], encoding: Encoding): Json[] {
  const ordered = joinedCalls(encoding.target.rules.midSystem === false ? systemFirst(turns) : turns);
  const messages: Json[] = [];
  const answered = new Set<ResultPart>();
  for (const [index, turn] of ordered.entries()) {
    switch (turn.role) {
      case 'system':
        messages.push(...encodeSystem(turn, encoding));
        break;
      case 'user':
        messages.push(...encodeUser(turn, encoding));
        break;
      case 'assistant': {
        messages.push(...encodeAssistant(turn, encoding));
        messages.push(...encodeResults(turn, laterThan(ordered, index), { encoding, answered }));
        break;
      }
    }
  }
  refuseOrphans(turns, answered);
  // Servers refuse a list without messages, and take an empty text.
  return messages.length > 0 ? messages : [{ role: 'user', content: '' }];
}

/** All system text in one turn at the start, for servers that accept it nowhere else. */
function systemFirst(turns: Turn[]): Turn[] {
  const parts = turns.filter((turn) => turn.role === 'system').flatMap((turn) => turn.parts);
  const others = turns.filter((turn) => turn.role !== 'system');
  return parts.length === 0 ? others : [{ role: 'system', parts }, ...others];
}

/** Calls must be answered before the next assistant message, so one that follows them directly becomes part of theirs. */
function joinedCalls(turns: Turn[]): Turn[] {
  const joined: Turn[] = [];
  /** The last turn, where it is of the assistant and calls. */
  let calling: Turn | undefined;
  for (const turn of turns) {
    if (turn.role === 'assistant' && calling) {
      for (const part of turn.parts) calling.parts.push(part);
      continue;
    }
    const copy = { ...turn, parts: [...turn.parts] };
    calling = turn.role === 'assistant' && turn.parts.some(({ type }) => type === 'call') ? copy : undefined;
    joined.push(copy);
  }
  return joined;
}

function encodeSystem(turn: Turn, { target, dropped }: Encoding): Json[] {
  const texts = turn.parts.filter((part): part is TextPart => part.type === 'text' && part.text !== '');
  const content = texts.map((part) => ({ type: 'text', text: part.text, ...marked(part.cache, { target, dropped }) }));
  if (content.length === 0) return [];
  const isMarked = content.some((part) => Object.keys(part).length > 2);
  return [
    {
      role: target.rules.systemRole ?? 'system',
      content: isMarked ? content : texts.map((part) => part.text).join('\n\n'),
      ...(turn.name && { name: turn.name }),
    },
  ];
}

/** Encodes a user turn without its results; result content that a tool message can't hold comes first. */
function encodeUser(turn: Turn, encoding: Encoding): Json[] {
  const attached = turn.parts.flatMap((part) => (part.type === 'result' ? encodeAttachments(part, encoding) : []));
  const content = [...attached, ...turn.parts.flatMap((part) => encodePart(part, encoding))];
  if (content.length === 0) return [];
  const [only] = content;
  const isPlain = content.length === 1 && only.type === 'text' && Object.keys(only).length === 2;
  return [{ role: 'user', content: isPlain ? only.text : content, ...(turn.name && { name: turn.name }) }];
}

function encodePart(part: Part, encoding: Encoding): Json[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [{ type: 'text', text: part.text, ...marked(part.cache, encoding) }];
    case 'media':
      return [{ ...encodeMedia(part, encoding.target.rules), ...marked(part.cache, encoding) }];
    case 'refusal':
      return [{ type: 'text', text: part.text }];
    case 'native':
    case 'reasoning':
    case 'call':
    case 'result':
      return [];
  }
}

function marked(cache: CacheMark | undefined, { target, dropped }: Encoding): Json {
  if (!cache) return {};
  switch (target.rules.cacheMarks) {
    case 'cache_control':
      return { cache_control: cacheControl(cache) };
    case 'prompt_cache_breakpoint':
      return { prompt_cache_breakpoint: { mode: 'explicit', ttl: cache.ttl === '12h' ? '12h' : '30m' } };
    case undefined:
      dropped.add('cache');
      return {};
  }
}

function encodeAssistant(turn: Turn, encoding: Encoding): Json[] {
  const { target } = encoding;
  const calls = turn.parts.filter((part) => part.type === 'call');
  const reasoning = encodeReasoning(turn, target);
  const text = turn.parts.map((part) => assistantText(part, encoding)).join('');
  const audio = turn.parts.find((part) => part.type === 'media' && part.fileId && !part.transcript);
  const extras = {
    ...(audio?.type === 'media' && { audio: { id: audio.fileId } }),
    ...(calls.length > 0 && { tool_calls: calls.map((call) => encodeCall(call, encoding)) }),
  };
  const isEmpty = text === '' && Object.keys(extras).length === 0;
  if (isEmpty && reasoning.reasoning_details === undefined) return [];
  const content = text === '' && !isEmpty ? null : text;
  return [{ role: 'assistant', content, ...reasoning, ...extras, ...(turn.name && { name: turn.name }) }];
}

/** Text of a part in an assistant message, which cannot contain generated images. */
function assistantText(part: Part, encoding: Encoding): string {
  switch (part.type) {
    case 'text':
      marked(part.cache, encoding);
      return part.text;
    case 'refusal':
      return part.text;
    case 'media':
      if (part.transcript || part.fileId) return part.transcript ?? '';
      encoding.dropped.add(`turns.parts.${part.kind}`);
      return `[${part.kind}]`;
    case 'native':
    case 'reasoning':
    case 'call':
    case 'result':
      return '';
  }
}

/** The provider's own state always goes back to it; plain reasoning text only if the rules require it. */
function encodeReasoning(turn: Turn, { origin, rules }: Target): Json {
  const parts: ReasoningPart[] = turn.parts.filter((part) => part.type === 'reasoning');
  const details = ownDetails(parts, origin);
  const text = parts.map((part) => part.text).join('');
  const isSent = rules.reasoningHistory === 'required' || (rules.reasoningHistory === 'accepted' && text !== '');
  return {
    ...(isSent && { reasoning_content: text }),
    ...(details.length > 0 && { reasoning_details: details }),
  };
}

function encodeCall(call: CallPart, { target: { origin, rules }, dropped }: Encoding): Json {
  const { name } = call;
  const id = shortCallId(call.id);
  if (call.cache) dropped.add('cache');
  const state = encodeCallState(ownState(call.opaque, origin), (opaque) => opaque.value);
  if (call.custom && rules.customTools) return { id, type: 'custom', custom: { name, input: call.args }, ...state };
  return { id, type: 'function', function: { name, arguments: writtenArguments(call, dropped) }, ...state };
}

/** The turns up to the next assistant turn. */
function laterThan(turns: Turn[], index: number): Turn[] {
  let end = index + 1;
  while (end < turns.length && turns[end]?.role !== 'assistant') end++;
  return turns.slice(index + 1, end);
}

/** One message for each call, in the order of the calls, as upstreams demand; results may come from any turn before the next answer. */
function encodeResults(
  turn: Turn,
  later: readonly Turn[],
  { encoding, answered }: { encoding: Encoding; answered: Set<ResultPart> },
): Json[] {
  const calls = turn.parts.filter((part) => part.type === 'call');
  const results = later.flatMap((other) => other.parts).filter((part) => part.type === 'result');
  const byCall = Map.groupBy(results.toReversed(), ({ callId }) => callId);
  return calls.map(({ id }) => {
    const result = byCall.get(id)?.pop();
    const tool_call_id = shortCallId(id);
    if (!result) return { role: 'tool', tool_call_id, content: NO_RESULT };
    answered.add(result);
    return { role: 'tool', tool_call_id, content: resultContent(result, encoding) };
  });
}

/** A text, or one with a breakpoint: that of the result, or of a part in it. */
function resultContent(result: ResultPart, encoding: Encoding): Json {
  const inner = result.parts.findLast((part) => part.type === 'text' && part.cache);
  const cache = result.cache ?? (inner?.type === 'text' ? inner.cache : undefined);
  const text = resultText(result);
  if (cache && encoding.target.rules.cacheMarks !== 'cache_control') encoding.dropped.add('cache');
  else if (cache) return [{ type: 'text', text, ...marked(cache, encoding) }];
  return text;
}

function resultText(result: ResultPart): string {
  const lines = result.parts.map((part) => {
    if (part.type === 'text') return part.text;
    if (part.type !== 'media') return '';
    return part.text === undefined ? `[${part.kind} attached below]` : documentText(part, part.text);
  });
  const text = lines.filter((line) => line !== '').join('\n');
  return result.isError ? `Error: ${text}` : text;
}

function encodeAttachments(result: ResultPart, encoding: Encoding): Json[] {
  const media = result.parts.filter((part) => part.type === 'media' && part.text === undefined);
  if (media.length === 0) return [];
  const intro = { type: 'text', text: `Attached to the result of the tool call ${shortCallId(result.callId)}:` };
  return [intro, ...media.flatMap((part) => encodePart(part, encoding))];
}

function refuseOrphans(turns: Turn[], answered: Set<ResultPart>): void {
  for (const part of turns.flatMap((turn) => turn.parts)) {
    if (part.type !== 'result' || answered.has(part)) continue;
    throw new GatewayError(
      'invalid_request',
      `A tool result answers the call "${part.callId}", but the assistant turn before it makes no such call.`,
      { param: 'turns' },
    );
  }
}
