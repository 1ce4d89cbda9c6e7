/**
 * Answer decoder: the events of an answer, or a whole response, to hub events. Items are told apart by their position, because
 * some servers change ids from event to event.
 */

import type { ChatEvent, Usage } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';
import type { Target } from '../../core/operation.ts';
import { lookUp } from '../../core/plain-objects.ts';
import { event as eventShape, response as responseShape } from './decode-answer-shape.ts';
import { decodeFinish } from './decode-finish.ts';
import { createItemDecoder, type ItemDecoder, SEPARATOR, type TextPlace } from './decode-stream-item.ts';
import { createLanes } from './decode-stream-lanes.ts';
import { errorIn } from './errors.ts';
import { COUNTED_CALLS, usageOf } from './usage.ts';

interface TextEvent {
  kind: TextPlace['kind'];
  /** Member with the whole text; absent for a delta. */
  whole?: string;
}

const LAST = ['response.completed', 'response.incomplete', 'response.cancelled'];

/** Events with text. Reasoning text has a name of OpenAI and one of Open Responses. */
const TEXTS: Record<string, TextEvent> = {
  'response.output_text.delta': { kind: 'text' },
  'response.output_text.done': { kind: 'text', whole: 'text' },
  'response.refusal.delta': { kind: 'refusal' },
  'response.refusal.done': { kind: 'refusal', whole: 'refusal' },
  'response.reasoning_summary_text.delta': { kind: 'summary' },
  'response.reasoning_summary_text.done': { kind: 'summary', whole: 'text' },
  'response.reasoning_text.delta': { kind: 'full' },
  'response.reasoning_text.done': { kind: 'full', whole: 'text' },
  'response.reasoning.delta': { kind: 'full' },
  'response.reasoning.done': { kind: 'full', whole: 'text' },
  'response.function_call_arguments.delta': { kind: 'call' },
  'response.function_call_arguments.done': { kind: 'call', whole: 'arguments' },
  'response.custom_tool_call_input.delta': { kind: 'call' },
  'response.custom_tool_call_input.done': { kind: 'call', whole: 'input' },
};

/** Type of an item that no event announced. */
const ITEM_TYPES: Record<TextPlace['kind'], string> = {
  text: 'message',
  refusal: 'message',
  summary: 'reasoning',
  full: 'reasoning',
  call: 'function_call',
};

/** Members of a part with its whole text, by its type. */
const PARTS: Record<string, { kind: TextPlace['kind']; member: string }> = {
  output_text: { kind: 'text', member: 'text' },
  refusal: { kind: 'refusal', member: 'refusal' },
  reasoning_text: { kind: 'full', member: 'text' },
  summary_text: { kind: 'summary', member: 'text' },
};

export interface AnswerDecoder {
  /** Throws for an error inside an event. */
  event(given: Json): ChatEvent[];
  /** The end of the answer, and the parts that no event has. */
  finish(response: Json): ChatEvent[];
  ended(): boolean;
  /** Counts of the last event, which may be an error. */
  usage(): Usage | undefined;
}

export function createAnswerDecoder(target: Target): AnswerDecoder {
  const openLane = createLanes();
  const items: ItemDecoder[] = [];
  const byPosition = new Map<number, ItemDecoder>();
  /** For servers that send ids without positions. */
  const positions = new Map<string, number>();
  const seen = { calls: false, refusal: false };
  const calls: Json[] = [];
  let latest = 0;
  let hasSpoken = false;
  let started = false;
  let ended = false;
  let usage: Usage | undefined;

  function count(response: Json): void {
    const counted = usageOf(response.output?.length > 0 ? response : { ...response, output: calls });
    usage = counted && { input: 0, output: 0, ...counted };
  }

  function start({ id, model, created_at }: Json): ChatEvent[] {
    if (started) return [];
    started = true;
    return [{ type: 'message-start', id: id ?? '', model: model ?? target.model, created: created_at ?? undefined }];
  }

  function positionOf({ output_index, item_id, item }: Json): number {
    return output_index ?? positions.get(item_id ?? item?.id) ?? latest;
  }

  function separator(): string {
    const text = hasSpoken ? SEPARATOR : '';
    hasSpoken = true;
    return text;
  }

  function open(position: number, begun: Json): ChatEvent[] {
    const item = createItemDecoder(begun, {
      lane: openLane(),
      origin: target.origin,
      callId: `call_${target.answerId ?? ''}_${items.length}`,
      opening: separator,
    });
    items.push(item);
    byPosition.set(position, item);
    latest = position;
    if (begun.id !== undefined) positions.set(begun.id, position);
    return item.begin();
  }

  function add(body: Json): ChatEvent[] {
    const position = body.output_index ?? items.length;
    const before = byPosition.get(position);
    if (before && before.id === body.item.id) return [];
    return [...(before?.end() ?? []), ...open(position, body.item)];
  }

  function end(body: Json): ChatEvent[] {
    const { item } = body;
    const known = byPosition.get(positionOf(body));
    if (COUNTED_CALLS.includes(item.type)) calls.push(item);
    if (known) return known.end(item);
    const position = body.output_index ?? items.length;
    return [...open(position, item), ...(byPosition.get(position)?.end(item) ?? [])];
  }

  /** The item of an event; one that was not announced begins with it. */
  function itemOf(body: Json, kind: TextPlace['kind'], write: (item: ItemDecoder) => ChatEvent[]): ChatEvent[] {
    const position = positionOf(body);
    const opened = byPosition.has(position) ? [] : open(position, { type: ITEM_TYPES[kind], id: body.item_id });
    const item = byPosition.get(position);
    return item ? [...opened, ...write(item)] : opened;
  }

  function decodeText({ kind, whole }: TextEvent, body: Json): ChatEvent[] {
    const index = (kind === 'summary' ? body.summary_index : body.content_index) ?? 0;
    const place: TextPlace = { kind, index: kind === 'call' ? 0 : index };
    const delta: string = body.delta ?? '';
    return itemOf(body, kind, (item) =>
      whole === undefined ? item.grow(place, delta, body) : item.complete(place, body[whole], body),
    );
  }

  function decodePart(body: Json): ChatEvent[] {
    const { part } = body;
    const known = lookUp(PARTS, part?.type ?? '');
    if (!known) return [];
    const { kind, member } = known;
    const index = (kind === 'summary' ? body.summary_index : body.content_index) ?? 0;
    return itemOf(body, kind, (item) => item.complete({ kind, index }, part[member], part));
  }

  function decode(body: Json): ChatEvent[] {
    const type: string = body.type ?? '';
    const text = lookUp(TEXTS, type);
    if (text) return decodeText(text, body);
    if (LAST.includes(type)) return finish({ ...body.response, status: statusOf(type, body.response?.status) });
    switch (type) {
      case 'response.output_item.added':
        return body.item ? add(body) : [];
      case 'response.output_item.done':
        return body.item ? end(body) : [];
      case 'response.output_text.annotation.added':
        return body.annotation
          ? itemOf(body, 'text', (item) => item.cite(body.content_index ?? 0, body.annotation))
          : [];
      case 'response.content_part.done':
      case 'response.reasoning_summary_part.done':
        return decodePart(body);
      default:
        return [];
    }
  }

  function finish(given: Json): ChatEvent[] {
    const response = responseShape(given) ?? {};
    const output: Json[] = response.output ?? [];
    const events = start(response);
    const lacks = items.length < output.length;
    for (const [position, item] of output.entries()) {
      const known = byPosition.get(position);
      if (known) events.push(...known.end(known.type === item.type ? item : undefined));
      else if (lacks) events.push(...end({ output_index: position, item }));
    }
    for (const item of items) events.push(...item.end());
    for (const event of events) note(event);
    count(response);
    const ending = decodeFinish(response, seen);
    ended = true;
    return [
      ...events,
      { type: 'candidate-end', candidate: 0, finish: ending },
      { type: 'message-end', ...(usage && { usage }) },
    ];
  }

  function note(event: ChatEvent): void {
    if (event.type !== 'part-start') return;
    seen.calls ||= event.part.type === 'call';
    seen.refusal ||= event.part.type === 'refusal';
  }

  return {
    event(given) {
      const error = errorIn(given);
      if (error) {
        count(responseShape(given?.response) ?? {});
        throw error;
      }
      const body = eventShape(given) ?? {};
      const events = [...start(body.response ?? {}), ...decode(body)];
      for (const event of events) note(event);
      return events;
    },
    finish,
    ended: () => ended,
    usage: () => usage,
  };
}

/** Some servers forget to change the status in the last event. */
function statusOf(type: string, status: unknown): string {
  return type === 'response.completed' && status === 'incomplete' ? status : type.slice('response.'.length);
}
