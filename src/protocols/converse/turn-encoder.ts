/** Turn encoder: turns of the hub to alternating messages, in which all results directly follow their calls. */

import type { CallPart, MediaPart, Part, ResultPart, TextPart, Turn } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { turnRuns } from '../../core/results.ts';
import {
  createCallIds,
  encodeCall,
  encodeMark,
  encodePart,
  encodeResult,
  type RequestEncoding,
} from './content-encoder.ts';

/** Placeholder for a required first message of the user. */
const OPENING = 'Begin.';
/** Text that a message with documents must have. */
const ABOUT_DOCUMENTS = 'Read the document.';
const NO_RESULT = 'No result was given for this call.';

/**
 * `turns` without the leading system turns. `inWords`: calls and results become texts, since they are refused in a request
 * without tools.
 */
export function encodeTurns(turns: Turn[], encoding: RequestEncoding, inWords: boolean): Json[] {
  const messages: Json[] = [];
  const idOf = createCallIds(encoding.family);
  /** Calls of the last assistant turns, with their ids upstream. */
  let calls: { call: CallPart; id: string }[] = [];

  function add(role: 'user' | 'assistant', content: Json[]): void {
    const last = messages.at(-1);
    if (content.length === 0) return;
    if (last?.role === role) last.content.push(...content);
    else messages.push({ role, content });
  }

  function encodeCalling(call: CallPart): Json[] {
    const id = idOf(call.id);
    calls.push({ call, id });
    const block = inWords ? { text: `I called the tool ${call.name} with ${call.args || '{}'}` } : encodeCall(call, id);
    return [block, ...encodeMark(call.cache, encoding)];
  }

  function encodeAnswer(part: Part): Json[] {
    if (part.type === 'result') return [];
    if (part.type === 'call') return encodeCalling(part);
    return encodePart(part.type === 'media' ? asWords(part, encoding.dropped) : part, encoding);
  }

  /** All results in the order of their calls; calls without one get an error for a result. */
  function encodeResults(group: Turn[]): Json[] {
    const results = new Map<string, ResultPart>();
    for (const part of group.flatMap(({ parts }) => parts)) if (part.type === 'result') results.set(part.callId, part);
    const encoded = calls.map(({ call, id }) => {
      const callId = call.id;
      const missing: ResultPart = { type: 'result', callId, parts: [{ type: 'text', text: NO_RESULT }], isError: true };
      const result = results.get(callId) ?? missing;
      return inWords
        ? { inside: resultInWords(result, call, encoding), behind: [] }
        : encodeResult(result, id, encoding);
    });
    calls = [];
    return [...encoded.flatMap(({ inside }) => inside), ...encoded.flatMap(({ behind }) => behind)];
  }

  for (const group of turnRuns(turns)) {
    if (group[0]?.role === 'assistant') {
      calls = [];
      const content = group.flatMap(({ parts }) => parts.flatMap(encodeAnswer));
      if (messages.length === 0 && content.length > 0) add('user', [{ text: OPENING }]);
      add('assistant', content);
    } else {
      add('user', encodeResults(group));
      for (const turn of group) add('user', encodeInput(turn, encoding));
    }
  }
  if (calls.length > 0) add('user', encodeResults([]));
  if (messages.length === 0) add('user', [{ text: OPENING }]);
  for (const { content } of messages) nameDocuments(content);
  endWell(messages, encoding);
  return messages;
}

/** A turn without its results; a later system turn in the words of a user. */
function encodeInput({ role, parts }: Turn, encoding: RequestEncoding): Json[] {
  const content = parts.flatMap((part) =>
    part.type === 'result' || part.type === 'call' ? [] : encodePart(part, encoding),
  );
  if (role !== 'system') return content;
  return content.map((block) => (block.text === undefined ? block : { text: `<system>\n${block.text}\n</system>` }));
}

function resultInWords(result: ResultPart, { name }: CallPart, encoding: RequestEncoding): Json[] {
  const blocks = result.parts.flatMap((part) =>
    part.type === 'result' || part.type === 'call' ? [] : encodePart(part, encoding),
  );
  const words = blocks.flatMap(({ text }) => text ?? []).join('\n');
  const failed = result.isError ? ' failed' : '';
  return [
    { text: `The tool ${name}${failed}: ${words}` },
    ...blocks.filter(({ text }) => text === undefined),
    ...encodeMark(result.cache, encoding),
  ];
}

/** Words for media in an earlier answer, which no answer may hold. */
function asWords({ kind, transcript }: MediaPart, dropped: Set<string>): TextPart {
  if (transcript) return { type: 'text', text: transcript };
  dropped.add(`turns.parts.${kind}`);
  return { type: 'text', text: `[${kind}]` };
}

function nameDocuments(content: Json[]): void {
  if (content.some(({ document }) => document) && content.every(({ text }) => text === undefined))
    content.push({ text: ABOUT_DOCUMENTS });
}

/** Trims the white space at the end of a last assistant turn, or refuses it for a model that does not go on with one. */
function endWell(messages: Json[], { target }: RequestEncoding): void {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return;
  if (target.rules.prefill === false) {
    const message = 'The model cannot continue a last assistant turn; end the conversation with a user turn.';
    throw new GatewayError('unsupported_parameter', message, { param: 'turns' });
  }
  const block = last.content.findLast(({ cachePoint }: Json) => !cachePoint);
  if (block?.text !== undefined) block.text = block.text.trimEnd();
}
