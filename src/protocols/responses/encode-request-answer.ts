/** An earlier answer of the model as input items: messages, reasoning and calls in their order. */

import type { CallPart, Part, ReasoningPart, TextPart, Turn } from '../../core/chat.ts';
import { writtenArguments } from '../../core/custom-tool.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { ownState } from '../../core/opaque.ts';
import { digestOf, itemIdOf } from './encode-request-ids.ts';
import { type InputEncoding, marked } from './encode-request-parts.ts';
import { itemOfState } from './state.ts';

type Phase = TextPart['phase'];

/** `callIds`: the ids for the upstream by those of the client. */
export function encodeAnswer(
  turns: readonly Turn[],
  callIds: ReadonlyMap<string, string>,
  encoding: InputEncoding,
): Json[] {
  const items: Json[] = [];
  let message: { phase: Phase; content: Json[] } | undefined;

  function say(content: Json, phase: Phase): void {
    if (!message || message.phase !== phase) {
      closeMessage();
      message = { phase, content: [] };
    }
    message.content.push(content);
  }

  function closeMessage(): void {
    if (message) items.push(messageOf(message));
    message = undefined;
  }

  function add(item: Json): void {
    if (!item) return;
    closeMessage();
    items.push(item);
  }

  function encodePart(part: Part, isBeforeCall: boolean): void {
    const phase = encoding.target.rules.phases ? (isBeforeCall ? 'commentary' : 'final_answer') : undefined;
    switch (part.type) {
      case 'text':
        marked(part.cache, encoding);
        if (part.text !== '') say({ type: 'output_text', text: part.text }, phase && (part.phase ?? phase));
        return;
      case 'refusal':
        say({ type: 'refusal', refusal: part.text }, phase);
        return;
      case 'media': {
        const text = wordsOf(part, encoding);
        if (text !== '') say({ type: 'output_text', text }, phase);
        return;
      }
      case 'reasoning':
        add(encodeReasoning(part, encoding));
        return;
      case 'call':
        add(encodeCall(part, callIds, encoding));
        return;
      case 'result':
      case 'native':
        return;
    }
  }

  for (const { parts } of turns) {
    const lastCall = parts.findLastIndex(({ type }) => type === 'call');
    for (const [index, part] of parts.entries()) encodePart(part, index < lastCall);
    closeMessage();
  }
  // Reasoning is refused without the item that follows it.
  return items.slice(0, items.findLastIndex(({ type }) => type !== 'reasoning') + 1);
}

/** A message is one text where it can be: all servers read that. */
function messageOf({ phase, content }: { phase: Phase; content: Json[] }): Json {
  const isText = content.every(({ type }) => type === 'output_text');
  const about = { type: 'message', role: 'assistant', ...(phase && { phase }) };
  return { ...about, content: isText ? content.map(({ text }) => text).join('') : content };
}

/** The words of audio; an image cannot stand in a message of the model. Throws `unsupported_parameter` for a file id. */
function wordsOf({ kind, transcript, fileId }: Extract<Part, { type: 'media' }>, { dropped }: InputEncoding): string {
  if (transcript) return transcript;
  if (fileId !== undefined) {
    const message = 'A file id is known only to the provider that gave it; send the words of the file.';
    throw new GatewayError('unsupported_parameter', message, { param: 'turns' });
  }
  dropped.add(`turns.parts.${kind}`);
  return `[${kind}]`;
}

/** State of its origin always goes back; reasoning without state only to a model that reads it. */
function encodeReasoning({ text, form, opaque }: ReasoningPart, { target: { origin, rules } }: InputEncoding): Json {
  const state = ownState(opaque, origin);
  const own = state && itemOfState(state);
  if (own) {
    const { id = `rs_${digestOf(own.encrypted_content)}`, encrypted_content } = own;
    const summary = text === '' || form === 'full' ? [] : [{ type: 'summary_text', text }];
    return { type: 'reasoning', id, summary, encrypted_content };
  }
  const isRead = rules.reasoningHistory === 'required' || rules.reasoningHistory === 'accepted';
  if (!isRead || text === '') return undefined;
  return { type: 'reasoning', id: `rs_${digestOf(text)}`, summary: [], content: [{ type: 'reasoning_text', text }] };
}

function encodeCall(call: CallPart, callIds: ReadonlyMap<string, string>, encoding: InputEncoding): Json {
  const { id, name, args, custom } = call;
  if (call.cache) encoding.dropped.add('cache');
  const call_id = callIds.get(id) ?? id;
  if (custom && encoding.target.rules.customTools !== false)
    return { type: 'custom_tool_call', id: itemIdOf('ctc', call_id), call_id, name, input: args };
  const written = writtenArguments(call, encoding.dropped);
  return { type: 'function_call', id: itemIdOf('fc', call_id), call_id, name, arguments: written };
}
