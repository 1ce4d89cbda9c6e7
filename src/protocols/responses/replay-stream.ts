/** Stream of a stored response: the events of an answer that has ended. */

import { isObject, type Json } from '../../core/json/json.ts';
import { needsSlices, writeInSlices } from '../../core/json/write-slices.ts';

const LAST_EVENTS: Record<string, string> = {
  completed: 'response.completed',
  incomplete: 'response.incomplete',
  failed: 'response.failed',
  cancelled: 'response.failed',
};

/** Server-sent events whose number is greater than `after`. A large one comes in several pieces. */
export async function* replayStream(response: Json, after = -1): AsyncGenerator<string | Buffer> {
  let number = 0;
  for (const event of eventsOf(response)) {
    if (number > after) yield* piecesOf(event, number);
    number++;
  }
}

/** Pieces of the event that ends the stream of a response. */
export function lastEvent(response: Json, number: number): AsyncGenerator<string | Buffer> {
  return piecesOf({ type: LAST_EVENTS[String(response.status)] ?? 'response.completed', response }, number);
}

async function* piecesOf({ type, ...members }: Json, number: number): AsyncGenerator<string | Buffer> {
  const data = { type, sequence_number: number, ...members };
  const start = `event: ${type}\ndata: `;
  if (!needsSlices(data)) yield `${start}${JSON.stringify(data)}\n\n`;
  else for (const piece of [start, await writeInSlices(data), '\n\n']) yield piece;
}

function* eventsOf(response: Json): Generator<Json> {
  const begun = { ...response, status: 'in_progress', output: [], usage: null, completed_at: null };
  yield { type: 'response.created', response: { ...begun, incomplete_details: null, error: null } };
  yield { type: 'response.in_progress', response: { ...begun, incomplete_details: null, error: null } };
  const items: Json[] = Array.isArray(response.output) ? response.output : [];
  for (const [index, item] of items.entries()) yield* itemEvents(item, index);
  yield { type: LAST_EVENTS[String(response.status)] ?? 'response.completed', response };
}

function* itemEvents(item: Json, index: number): Generator<Json> {
  const place = { output_index: index };
  const inItem = { item_id: item.id, ...place };
  yield { type: 'response.output_item.added', ...place, item: emptied(item) };
  switch (item.type) {
    case 'message':
      for (const [position, part] of partsOf(item.content))
        yield* contentEvents(part, { ...inItem, content_index: position });
      break;
    case 'reasoning':
      for (const [position, part] of partsOf(item.summary))
        yield* summaryEvents(part, { ...inItem, summary_index: position });
      for (const [position, part] of partsOf(item.content))
        yield* contentEvents(part, { ...inItem, content_index: position });
      break;
    case 'function_call':
      yield { type: 'response.function_call_arguments.delta', ...inItem, delta: item.arguments };
      yield { type: 'response.function_call_arguments.done', ...inItem, name: item.name, arguments: item.arguments };
      break;
    case 'custom_tool_call':
      yield { type: 'response.custom_tool_call_input.delta', ...inItem, delta: item.input };
      yield { type: 'response.custom_tool_call_input.done', ...inItem, input: item.input };
      break;
  }
  yield { type: 'response.output_item.done', ...place, item };
}

/** The item at its beginning. */
function emptied(item: Json): Json {
  switch (item.type) {
    case 'message':
      return { ...item, status: 'in_progress', content: [] };
    case 'reasoning': {
      const { encrypted_content: _state, ...begun } = item;
      return { ...begun, summary: [], ...(item.content && { content: [] }) };
    }
    case 'function_call':
      return { ...item, status: 'in_progress', arguments: '' };
    case 'custom_tool_call':
      return { ...item, status: 'in_progress', input: '' };
    default:
      return item;
  }
}

/** Names of the events and of the text of each kind of part. */
const TEXTS: Record<string, { event: string; member: 'text' | 'refusal'; more?: Json }> = {
  output_text: { event: 'response.output_text', member: 'text', more: { logprobs: [] } },
  refusal: { event: 'response.refusal', member: 'refusal' },
  reasoning_text: { event: 'response.reasoning_text', member: 'text' },
};

function* contentEvents(part: Json, place: Json): Generator<Json> {
  const known = Object.hasOwn(TEXTS, String(part.type)) ? TEXTS[part.type] : undefined;
  const begun = known ? { ...part, [known.member]: '', ...(part.annotations && { annotations: [] }) } : part;
  yield { type: 'response.content_part.added', ...place, part: begun };
  if (known) {
    const { event, member, more } = known;
    yield { type: `${event}.delta`, ...place, delta: part[member], ...more };
    for (const [index, annotation] of partsOf(part.annotations))
      yield { type: 'response.output_text.annotation.added', ...place, annotation_index: index, annotation };
    yield { type: `${event}.done`, ...place, [member]: part[member], ...more };
  }
  yield { type: 'response.content_part.done', ...place, part };
}

function* summaryEvents(part: Json, place: Json): Generator<Json> {
  yield { type: 'response.reasoning_summary_part.added', ...place, part: { ...part, text: '' } };
  yield { type: 'response.reasoning_summary_text.delta', ...place, delta: part.text };
  yield { type: 'response.reasoning_summary_text.done', ...place, text: part.text };
  yield { type: 'response.reasoning_summary_part.done', ...place, part };
}

function partsOf(parts: Json): [number, Json][] {
  return Array.isArray(parts) ? [...parts.entries()].filter(([, part]) => isObject(part)) : [];
}
