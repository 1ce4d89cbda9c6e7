/**
 * Item decoder: one item of an answer as parts of the hub. Servers stream its text and arguments in deltas, give them whole
 * at the end of a part, or only in the finished item; a whole text adds the rest that the deltas lack.
 */

import type { ChatEvent, Citation, OpenPart } from '../../core/chat.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { decodeCitation, decodeLogprobs, decodeProviderItem } from './decode-answer-parts.ts';
import type { Lane, LaneEvent } from './decode-stream-lanes.ts';
import { stateOf } from './state.ts';

/** A place for text in an item. */
export interface TextPlace {
  kind: 'text' | 'refusal' | 'summary' | 'full' | 'call';
  /** Index among the parts of the item; 0 for a call. */
  index: number;
}

export interface ItemDecoder {
  readonly type: string;
  /** Id of the item as announced. */
  readonly id?: string;
  /** Called once, before everything else. */
  begin(): ChatEvent[];
  /** A fragment of a place's text. */
  grow(place: TextPlace, text: string, details?: Json): ChatEvent[];
  /** The whole of a place. */
  complete(place: TextPlace, text: Json, details?: Json): ChatEvent[];
  cite(index: number, annotation: Json): ChatEvent[];
  /** The end of the item; without the finished item, it ends as it is. */
  end(finished?: Json): ChatEvent[];
}

export interface ItemContext {
  lane: Lane;
  /** Owner of its state. */
  origin: string;
  /** Id of a call that has none. */
  callId: string;
  /** Text that separates its first text from earlier ones. */
  opening(): string;
}

/** Text that was received for a place. */
interface Received {
  text: string;
  citations: number;
  hasLogprobs: boolean;
  /** Length of the item before the text. */
  offset: number;
}

/** Between the summaries of one reasoning item, and between two messages. */
export const SEPARATOR = '\n\n';

const CALL: TextPlace = { kind: 'call', index: 0 };
const CALLS = ['function_call', 'custom_tool_call'];

export function createItemDecoder(begun: Json, { lane, origin, callId, opening }: ItemContext): ItemDecoder {
  const { type } = begun;
  const places = new Map<string, Received>();
  let item = begun;
  /** Key of the open part. */
  let open: string | undefined;
  /** The form of reasoning that came first; the other one repeats it. */
  let form: 'summary' | 'full' | undefined;
  let hasText = false;
  let ended = false;

  function receivedAt({ kind, index }: TextPlace): Received {
    const key = `${kind} ${index}`;
    const received = places.get(key) ?? { text: '', citations: 0, hasLogprobs: false, offset: 0 };
    places.set(key, received);
    return received;
  }

  function write(...events: LaneEvent[]): ChatEvent[] {
    return events.flatMap((event) => lane.write(event));
  }

  function openPart(key: string, part: OpenPart): ChatEvent[] {
    if (open === key) return [];
    const closing = closePart();
    open = key;
    return [...closing, ...write({ type: 'part-start', part })];
  }

  function closePart(): ChatEvent[] {
    if (open === undefined) return [];
    open = undefined;
    return write({ type: 'part-end' });
  }

  function openText({ kind, index }: TextPlace): ChatEvent[] {
    const { phase } = item;
    const isPhase = phase === 'commentary' || phase === 'final_answer';
    const part: OpenPart =
      kind === 'refusal' ? { type: 'refusal', text: '' } : { type: 'text', text: '', ...(isPhase && { phase }) };
    return openPart(`${kind} ${index}`, part);
  }

  function growText(place: TextPlace, text: string, details: Json): ChatEvent[] {
    const received = receivedAt(place);
    const logprobs = decodeLogprobs(details.logprobs);
    if (text === '' && !logprobs) return [];
    const before = hasText ? '' : opening();
    if (received.text === '') received.offset = before.length;
    received.text += text;
    received.hasLogprobs ||= logprobs !== undefined;
    hasText = true;
    return [...openText(place), ...write({ type: 'part-delta', text: before + text, ...(logprobs && { logprobs }) })];
  }

  function growReasoning(place: TextPlace, text: string): ChatEvent[] {
    if (text === '') return [];
    const received = receivedAt(place);
    form ??= place.kind === 'full' ? 'full' : 'summary';
    const before = received.text === '' && hasText ? SEPARATOR : '';
    received.text += text;
    if (form !== place.kind) return [];
    hasText = true;
    return [
      ...openPart('reasoning', { type: 'reasoning', text: '', form }),
      ...write({ type: 'part-delta', text: before + text }),
    ];
  }

  /** Arguments that come before the name of the call are written with it. */
  function growCall(text: string): ChatEvent[] {
    const received = receivedAt(CALL);
    received.text += text;
    if (open !== 'call') return item.name ? openCall() : [];
    return text === '' ? [] : write({ type: 'part-delta', text });
  }

  function openCall(): ChatEvent[] {
    const { name, call_id, id } = item;
    const custom = item.type === 'custom_tool_call';
    const part: OpenPart = {
      type: 'call',
      id: call_id || id || callId,
      name: name ?? '',
      args: '',
      ...(custom && { custom }),
    };
    const { text } = receivedAt(CALL);
    const opened = openPart('call', part);
    return text === '' ? opened : [...opened, ...write({ type: 'part-delta', text })];
  }

  function grow(place: TextPlace, text: string, details: Json = {}): ChatEvent[] {
    if (ended) return [];
    switch (place.kind) {
      case 'text':
      case 'refusal':
        return growText(place, text, details);
      case 'summary':
      case 'full':
        return growReasoning(place, text);
      case 'call':
        return growCall(text);
    }
  }

  function complete(place: TextPlace, given: Json, details: Json = {}): ChatEvent[] {
    if (ended) return [];
    const received = receivedAt(place);
    const text = isObject(given) ? JSON.stringify(given) : (given ?? '');
    const isLonger = text.length > received.text.length && text.startsWith(received.text);
    const { logprobs } = details;
    const annotations: Json[] = details.annotations ?? [];
    const rest = isLonger ? text.slice(received.text.length) : '';
    const events = grow(place, rest, received.hasLogprobs ? {} : { logprobs });
    for (const annotation of annotations.slice(received.citations)) events.push(...cite(place.index, annotation));
    return events;
  }

  function cite(index: number, annotation: Json): ChatEvent[] {
    if (ended) return [];
    const place: TextPlace = { kind: 'text', index };
    const received = receivedAt(place);
    received.citations++;
    const citation = moved(decodeCitation(annotation), received.offset);
    return [...openText(place), ...write({ type: 'part-delta', citation })];
  }

  function finish(): ChatEvent[] {
    switch (item.type) {
      case 'message':
        return finishMessage();
      case 'reasoning':
        return finishReasoning();
      case 'function_call':
        return complete(CALL, item.arguments);
      case 'custom_tool_call':
        return complete(CALL, item.input);
      default:
        return openPart('provider', decodeProviderItem(item));
    }
  }

  function finishMessage(): ChatEvent[] {
    const { content } = item;
    if (typeof content === 'string') return complete({ kind: 'text', index: 0 }, content);
    const parts: Json[] = content ?? [];
    return parts.flatMap((part, index) =>
      part.type === 'refusal'
        ? complete({ kind: 'refusal', index }, part.refusal)
        : complete({ kind: 'text', index }, part.text, part),
    );
  }

  function finishReasoning(): ChatEvent[] {
    const content: Json[] = Array.isArray(item.content) ? item.content : [];
    const summary: Json[] = item.summary ?? [];
    const events: ChatEvent[] = [];
    for (const [index, part] of content.entries()) events.push(...complete({ kind: 'full', index }, part.text));
    for (const [index, part] of summary.entries()) events.push(...complete({ kind: 'summary', index }, part.text));
    const opaque = stateOf(item, origin, hasText);
    if (!opaque) return events;
    if (hasText) return [...events, ...write({ type: 'part-delta', opaque })];
    return [...events, ...openPart('reasoning', { type: 'reasoning', text: '', opaque })];
  }

  return {
    type,
    id: begun.id,
    begin: () => (CALLS.includes(type) && item.name ? openCall() : []),
    grow,
    complete,
    cite,
    end(finished) {
      if (ended) return [];
      if (finished) item = { ...item, ...finished };
      const rest = finished ? finish() : [];
      ended = true;
      // A call without a name is reported by its reader.
      const nameless = CALLS.includes(item.type) && open !== 'call' ? openCall() : [];
      return [...rest, ...nameless, ...closePart(), ...lane.end()];
    },
  };
}

/** The citation behind a text that was written before the cited one. */
function moved(citation: Citation, offset: number): Citation {
  const { start, end } = citation;
  if (offset === 0) return citation;
  return {
    ...citation,
    ...(start !== undefined && { start: start + offset }),
    ...(end !== undefined && { end: end + offset }),
  };
}
