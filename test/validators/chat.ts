/** The grammar of a chat completions stream as the gateway writes it. */

import assert from 'node:assert/strict';
import type { Json } from '../../src/core/json/json.ts';
import {
  assertArguments,
  assertCount,
  assertKeys,
  assertObject,
  blocksOf,
  type CheckedStream,
  objectOf,
} from './frames.ts';

export interface ChatStreamOptions {
  /** Whether the client asked for usage; left out, both forms pass. */
  includeUsage?: boolean;
}

interface Choice {
  finish?: string;
  calls: Map<number, { type: string; text: string }>;
}

const FINISHES = ['stop', 'length', 'tool_calls', 'content_filter'];
const CHUNK = ['id', 'object', 'created', 'model', 'choices', 'usage', 'service_tier', 'system_fingerprint'];
const CHOICE = ['index', 'delta', 'finish_reason', 'logprobs', 'native_finish_reason'];
const DELTA = [
  ...['role', 'content', 'refusal', 'audio', 'tool_calls', 'annotations', 'citations', 'images', 'extra_content'],
  ...['reasoning', 'reasoning_content', 'reasoning_details'],
];

/** Throws an assertion error for the first thing that breaks the grammar. */
export function checkChatStream(text: string, { includeUsage }: ChatStreamOptions = {}): CheckedStream {
  const lines = blocksOf(text).filter(({ data }) => data !== undefined);
  for (const { event } of lines) assert.equal(event, undefined, 'an event has a name');
  const last = lines.at(-1)?.data ?? assert.fail('the stream has only comments');
  const done = last === '[DONE]';
  const data = lines.slice(0, done ? -1 : undefined).map((block) => objectOf(block.data ?? ''));
  if (!done) assertError(data.at(-1));
  const chunks = done ? data : data.slice(0, -1);
  checkIdentity(chunks);
  const choices = new Map<number, Choice>();
  for (const [position, chunk] of chunks.entries()) {
    if (chunk.choices.length === 0) checkUsageChunk(chunk, done && position === chunks.length - 1, includeUsage);
    else if (chunk.usage !== undefined) assert.equal(chunk.usage, null, 'usage stands beside choices');
    for (const choice of chunk.choices) checkChoice(choice, choices);
  }
  if (!done) return { ending: 'error', data };
  assert.ok(choices.size > 0, 'no chunk has a choice');
  for (const choice of choices.values()) checkEnd(choice);
  if (includeUsage) assert.deepEqual(chunks.at(-1)?.choices, [], 'usage is not in the last chunk');
  return { ending: 'complete', data };
}

function checkIdentity(chunks: Json[]): void {
  for (const chunk of chunks) {
    assertKeys(chunk, CHUNK, 'a chunk');
    assert.equal(chunk.object, 'chat.completion.chunk');
    assert.ok(Array.isArray(chunk.choices), 'choices is not a list');
    assert.ok(typeof chunk.id === 'string' && chunk.id !== '', 'a chunk has no id');
    assertCount(chunk.created, 'created');
    for (const name of ['id', 'created', 'model']) assert.equal(chunk[name], chunks[0][name], `${name} changes`);
  }
}

function checkUsageChunk(chunk: Json, isLast: boolean, includeUsage: boolean | undefined): void {
  assert.notEqual(includeUsage, false, 'usage was not asked for');
  assert.ok(isLast, 'a chunk without choices is not the last one');
  const { usage } = chunk;
  assertObject(usage, 'usage');
  for (const name of ['prompt_tokens', 'completion_tokens', 'total_tokens']) assertCount(usage[name], name);
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
}

function checkChoice(choice: Json, choices: Map<number, Choice>): void {
  assertKeys(choice, CHOICE, 'a choice');
  assertCount(choice.index, 'index of a choice');
  assertKeys(choice.delta, DELTA, 'a delta');
  const known = choices.get(choice.index);
  assert.equal(choice.delta.role, known ? undefined : 'assistant', 'the role stands in the first delta and only there');
  const seen: Choice = known ?? { calls: new Map() };
  choices.set(choice.index, seen);
  assert.equal(seen.finish, undefined, 'a choice goes on after its finish_reason');
  for (const name of ['content', 'refusal', 'reasoning', 'reasoning_content']) {
    const value = choice.delta[name];
    assert.ok(value === undefined || value === null || typeof value === 'string', `${name} is not text`);
  }
  for (const call of choice.delta.tool_calls ?? []) checkCall(call, seen);
  if (choice.finish_reason === null) return;
  assert.ok(FINISHES.includes(choice.finish_reason), `unknown finish_reason ${choice.finish_reason}`);
  assert.deepEqual(choice.delta, {}, 'the delta beside a finish_reason is not empty');
  seen.finish = choice.finish_reason;
}

function checkCall(call: Json, { calls }: Choice): void {
  assertKeys(call, ['index', 'id', 'type', 'function', 'custom', 'extra_content'], 'a tool call');
  assertCount(call.index, 'index of a call');
  const known = calls.get(call.index);
  if (known) {
    for (const name of ['id', 'type']) assert.equal(call[name], undefined, `${name} is repeated`);
    assert.equal(call.function?.name ?? call.custom?.name, undefined, 'the name of a call is repeated');
  } else {
    assert.equal(call.index, calls.size, 'calls are not numbered in order');
    assert.ok(typeof call.id === 'string' && call.id !== '', 'a call begins without an id');
    assert.ok(call.type === 'function' || call.type === 'custom', `a call begins with type ${call.type}`);
    assert.ok(typeof call[call.type]?.name === 'string', 'a call begins without a name');
  }
  const seen = known ?? { type: call.type, text: '' };
  calls.set(call.index, seen);
  const piece = seen.type === 'function' ? call.function?.arguments : call.custom?.input;
  if (piece === undefined) return;
  assert.equal(typeof piece, 'string', 'arguments are not text');
  seen.text += piece;
}

function checkEnd({ finish, calls }: Choice): void {
  assert.ok(finish !== undefined, 'a choice has no finish_reason');
  assert.ok(finish !== 'tool_calls' || calls.size > 0, 'tool_calls without a call');
  assert.ok(finish !== 'stop' || calls.size === 0, 'calls that end with stop');
  if (finish !== 'tool_calls') return;
  for (const { type, text } of calls.values()) if (type === 'function') assertArguments(text, 'arguments');
}

/** One object with `error` and no `choices`. */
function assertError(body: Json): void {
  assertKeys(body, ['error'], 'the last event of a broken stream');
  assertKeys(body.error, ['message', 'type', 'code', 'param'], 'error');
  for (const name of ['message', 'type', 'code']) assert.equal(typeof body.error[name], 'string', `error.${name}`);
}
