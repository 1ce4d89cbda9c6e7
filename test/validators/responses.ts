/** The grammar of a Responses stream as the gateway writes it. */

import assert from 'node:assert/strict';
import type { Json } from '../../src/core/json/json.ts';
import { blocksOf, type CheckedStream, objectOf } from './frames.ts';
import { assertItem, assertPart, assertResponse } from './response-object.ts';

const LAST = ['response.completed', 'response.incomplete', 'response.failed'];

interface Grown {
  type: string;
  text: string;
  annotations: Json[];
  done: boolean;
}

interface Seen {
  stage: 'before' | 'created' | 'items' | 'ended';
  id: string;
  /** Complete items. */
  output: Json[];
  item?: { id: string; type: string; parts: number; arguments: string; complete: boolean };
  part?: Grown;
}

/** Throws an assertion error for the first thing that breaks the grammar. */
export function checkResponsesStream(text: string): CheckedStream {
  const blocks = blocksOf(text).filter(({ data }) => data !== undefined);
  const seen: Seen = { stage: 'before', id: '', output: [] };
  const data: Json[] = [];
  for (const [position, block] of blocks.entries()) {
    const event = objectOf(block.data ?? '');
    assert.equal(block.event, event.type, 'the name of an event is not its type');
    assert.equal(event.sequence_number, position, 'events are not numbered in order');
    assert.notEqual(seen.stage, 'ended', `${event.type} after the last event`);
    data.push(event);
    if (event.response) checkLifecycle(event, seen);
    else checkItemEvent(event, seen);
  }
  assert.equal(seen.stage, 'ended', 'the stream has no last event');
  return { ending: data.at(-1)?.type === 'response.failed' ? 'error' : 'complete', data };
}

function checkLifecycle({ type, response }: Json, seen: Seen): void {
  assertResponse(response);
  if (seen.id !== '') assert.equal(response.id, seen.id, 'the id changes');
  seen.id = response.id;
  if (type === 'response.created' || type === 'response.in_progress') {
    assert.equal(seen.stage, type === 'response.created' ? 'before' : 'created', `${type} in the wrong place`);
    assert.deepEqual([response.status, response.output], ['in_progress', []]);
    seen.stage = type === 'response.created' ? 'created' : 'items';
    return;
  }
  assert.ok(LAST.includes(type), `unknown event ${type}`);
  assert.equal(seen.stage, 'items', `${type} before the stream begins`);
  assert.equal(type, `response.${response.status}`, 'the status is not that of the event');
  if (type !== 'response.failed') assert.equal(seen.item, undefined, `${type} inside an item`);
  assert.deepEqual(response.output, seen.output, 'the output is not what was streamed');
  seen.stage = 'ended';
}

function checkItemEvent(event: Json, seen: Seen): void {
  assert.equal(seen.stage, 'items', `${event.type} outside of the answer`);
  assert.equal(event.output_index, seen.output.length, 'items are not numbered in order');
  if (event.type === 'response.output_item.added') {
    openItem(event.item, seen);
    return;
  }
  const item = seen.item ?? assert.fail(`${event.type} outside of an item`);
  if (event.type === 'response.output_item.done') {
    closeItem(event.item, seen);
    return;
  }
  assert.equal(event.item_id, item.id, 'an event of another item');
  switch (item.type) {
    case 'message':
      checkPartEvent(event, seen, MESSAGE);
      break;
    case 'reasoning':
      checkPartEvent(event, seen, SUMMARY);
      break;
    case 'function_call':
      checkArguments(event, item, 'function_call_arguments', 'arguments');
      break;
    case 'custom_tool_call':
      checkArguments(event, item, 'custom_tool_call_input', 'input');
      break;
    case 'web_search_call':
      checkSearch(event, item);
      break;
    default:
      assert.fail(`${event.type} in an item of the type ${item.type}`);
  }
}

function openItem(item: Json, seen: Seen): void {
  assert.equal(seen.item, undefined, 'two items are open');
  assert.equal(item.status, 'in_progress', 'an item that begins with another status');
  const { content = [], summary = [], arguments: args = '', input = '' } = item;
  assert.deepEqual([content, summary, args, input], [[], [], '', ''], 'an item that is not empty at its beginning');
  seen.item = { id: item.id, type: item.type, parts: 0, arguments: '', complete: false };
}

function closeItem(item: Json, seen: Seen): void {
  const open = seen.item;
  assert.deepEqual([item.id, item.type], [open?.id, open?.type], 'the end of another item');
  assert.equal(seen.part, undefined, 'the end of an item inside a part');
  assertItem(item, 'incomplete');
  const parts = item.content ?? item.summary ?? [];
  if (item.type === 'message' || item.type === 'reasoning')
    assert.equal(parts.length, open?.parts, 'parts are missing');
  if (item.type === 'function_call' || item.type === 'custom_tool_call') {
    assert.ok(open?.complete, 'a call without the end of its arguments');
    assert.equal(item.arguments ?? item.input, open.arguments, 'the item has other arguments');
  }
  seen.output.push(item);
  seen.item = undefined;
}

interface PartEvents {
  added: string;
  end: string;
  index: string;
  /** By the type of the part: the name of its events, and the member of the text. */
  texts: Record<string, { events: string; member: string }>;
}

const MESSAGE: PartEvents = {
  added: 'content_part.added',
  end: 'content_part.done',
  index: 'content_index',
  texts: {
    output_text: { events: 'output_text', member: 'text' },
    refusal: { events: 'refusal', member: 'refusal' },
  },
};

const SUMMARY: PartEvents = {
  added: 'reasoning_summary_part.added',
  end: 'reasoning_summary_part.done',
  index: 'summary_index',
  texts: { summary_text: { events: 'reasoning_summary_text', member: 'text' } },
};

function checkPartEvent(event: Json, seen: Seen, events: PartEvents): void {
  const type = event.type.replace(/^response\./, '');
  assert.equal(event[events.index], seen.item?.parts, 'parts are not numbered in order');
  if (type === events.added) {
    assert.equal(seen.part, undefined, 'two parts are open');
    const { member } = events.texts[event.part.type] ?? assert.fail(`unknown part ${event.part.type}`);
    assert.equal(event.part[member], '', 'a part that is not empty at its beginning');
    seen.part = { type: event.part.type, text: '', annotations: [], done: false };
    return;
  }
  const part = seen.part ?? assert.fail(`${type} outside of a part`);
  const { events: name, member } = events.texts[part.type] ?? assert.fail(part.type);
  if (type === events.end) {
    assert.ok(part.done, 'a part that ends before its text');
    assert.equal(event.part[member], part.text, 'the part has another text');
    if (part.type === 'output_text') assert.deepEqual(event.part.annotations, part.annotations);
    if (events === MESSAGE) assertPart(event.part);
    seen.part = undefined;
    if (seen.item) seen.item.parts++;
    return;
  }
  assert.ok(!part.done, `${type} after the end of the text`);
  if (type === `${name}.delta`) {
    assert.equal(typeof event.delta, 'string');
    part.text += event.delta;
  } else if (type === `${name}.done`) {
    assert.equal(event[member], part.text, 'the text is not the sum of its deltas');
    part.done = true;
  } else {
    assert.equal(type, 'output_text.annotation.added', `unknown event ${type}`);
    assert.equal(event.annotation_index, part.annotations.length);
    part.annotations.push(event.annotation);
  }
}

function checkArguments(event: Json, item: NonNullable<Seen['item']>, name: string, member: string): void {
  assert.ok(!item.complete, `${event.type} after the end of the arguments`);
  if (event.type === `response.${name}.delta`) {
    assert.equal(typeof event.delta, 'string');
    item.arguments += event.delta;
    return;
  }
  assert.equal(event.type, `response.${name}.done`, `unknown event ${event.type}`);
  assert.equal(event[member], item.arguments, 'the arguments are not the sum of their deltas');
  item.complete = true;
}

const SEARCH_STEPS = ['in_progress', 'searching', 'completed'];

function checkSearch(event: Json, item: NonNullable<Seen['item']>): void {
  assert.equal(event.type, `response.web_search_call.${SEARCH_STEPS[item.parts++]}`, 'a search out of order');
}
