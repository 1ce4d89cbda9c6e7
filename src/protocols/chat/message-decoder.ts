/** Message decoder: converts client messages to turns and groups the results of each assistant turn. */

import type { CallPart, Part, ResultPart, Turn } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { mediaAt } from '../data-url.ts';
import { decodeCache, decodeContent } from './media.ts';
import { decodeCallState, decodeHistory } from './reasoning.ts';

/** Generated ids for calls and results of old clients, which have none. */
interface Legacy {
  count: number;
  id: string;
}

export function decodeMessages(messages: Json[]): Turn[] {
  const turns: Turn[] = [];
  const names = new Map<string, string>();
  const legacy: Legacy = { count: 0, id: '' };
  let results: ResultPart[] | undefined;
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`;
    if (message.role === 'tool' || message.role === 'function') {
      if (!results) {
        results = [];
        turns.push({ role: 'user', parts: results });
      }
      results.push(decodeResult(message, path, { names, legacy }));
      continue;
    }
    const turn = decodeTurn(message, path, legacy);
    if (turn.role === 'assistant') {
      results = callsOf(turn).length > 0 ? [] : undefined;
      for (const call of callsOf(turn)) names.set(call.id, call.name);
    }
    turns.push(turn);
    if (turn.role === 'assistant' && results) turns.push({ role: 'user', parts: results });
  }
  return turns.filter((turn) => turn.parts.length > 0);
}

function callsOf(turn: Turn): CallPart[] {
  return turn.parts.filter((part) => part.type === 'call');
}

function decodeTurn(message: Json, path: string, legacy: Legacy): Turn {
  const name = message.name ? { name: message.name } : {};
  switch (message.role) {
    case 'system':
    case 'developer': {
      const developer = message.role === 'developer' ? { developer: true } : {};
      return { role: 'system', parts: markedContent(message, path), ...developer, ...name };
    }
    case 'user':
      return { role: 'user', parts: markedContent(message, path), ...name };
    case 'assistant':
      return { role: 'assistant', parts: decodeAssistant(message, path, legacy), ...name };
    default:
      throw new GatewayError('invalid_request', `${path}.role is not known.`, { param: `${path}.role` });
  }
}

/** Content parts; a breakpoint of the whole message moves to its last part. */
function markedContent(message: Json, path: string): Part[] {
  const parts = decodeContent(message.content, `${path}.content`);
  const last = parts.at(-1);
  if (last?.type === 'text' || last?.type === 'media') Object.assign(last, decodeCache(message));
  return parts;
}

/** Reasoning first, then text, then calls: the order in which every protocol produced them. */
function decodeAssistant(message: Json, path: string, legacy: Legacy): Part[] {
  const { parts: reasoning, states } = decodeHistory(message);
  const content = markedContent(message, path);
  const textState = states.get('content');
  const text = content.find((part) => part.type === 'text');
  if (textState && text?.type === 'text') text.opaque = textState;
  const parts: Part[] = [...reasoning, ...content];
  if (message.refusal) parts.push({ type: 'refusal', text: message.refusal });
  for (const image of message.images ?? []) parts.push(mediaAt(image.image_url.url, 'image'));
  if (message.audio?.id) parts.push({ type: 'media', kind: 'audio', fileId: message.audio.id });
  for (const call of message.tool_calls ?? []) {
    parts.push({ ...decodeCall(call), ...decodeCallState(call, states) });
  }
  if (message.function_call) {
    legacy.id = `call_${legacy.count++}`;
    const { name, arguments: args } = message.function_call;
    parts.push({ type: 'call', id: legacy.id, name, args: args ?? '' });
  }
  return parts;
}

function decodeCall(call: Json): CallPart {
  const { id } = call;
  if (call.custom && !call.function) {
    return { type: 'call', id, name: call.custom.name, args: call.custom.input, custom: true };
  }
  return { type: 'call', id, name: call.function.name, args: call.function.arguments ?? '' };
}

function decodeResult(message: Json, path: string, known: { names: Map<string, string>; legacy: Legacy }): ResultPart {
  const callId = message.role === 'function' ? known.legacy.id : message.tool_call_id;
  const name = message.name ?? known.names.get(callId);
  const parts = decodeContent(message.content, `${path}.content`);
  const last = parts.at(-1);
  const cache = last?.type === 'text' ? last.cache : undefined;
  return { type: 'result', callId, ...(name && { name }), parts, ...(cache && { cache }), ...decodeCache(message) };
}
