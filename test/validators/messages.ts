/** The grammar of a messages stream as the gateway writes it. */

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

export const STOP_REASONS = [
  ...['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'pause_turn', 'refusal'],
  'model_context_window_exceeded',
];

/** Deltas by the type of block that they may grow; a block that is not listed comes whole. */
const DELTAS: Record<string, readonly string[]> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  server_tool_use: ['input_json_delta'],
};

const WHOLE_BLOCKS = /^(redacted_thinking|container_upload|\w+_tool_result)$/;

const ERROR_TYPES = [
  ...['invalid_request_error', 'authentication_error', 'billing_error', 'permission_error', 'not_found_error'],
  ...['request_too_large', 'rate_limit_error', 'api_error', 'timeout_error', 'overloaded_error'],
];

interface OpenBlock {
  type: string;
  input: string;
  signed: boolean;
}

interface Seen {
  stage: 'before' | 'blocks' | 'delta' | 'stopped';
  blocks: number;
  open?: OpenBlock;
  /** Whether the arguments of each tool call are whole. */
  calls: string[];
  output: number;
}

/** Throws an assertion error for the first thing that breaks the grammar. */
export function checkMessagesStream(text: string): CheckedStream {
  const blocks = blocksOf(text).filter(({ data }) => data !== undefined);
  const seen: Seen = { stage: 'before', blocks: 0, calls: [], output: 0 };
  const data: Json[] = [];
  for (const [position, block] of blocks.entries()) {
    const body = objectOf(block.data ?? '');
    assert.equal(block.event, body.type, 'the name of an event is not its type');
    assert.notEqual(seen.stage, 'stopped', `${body.type} after message_stop`);
    data.push(body);
    if (body.type === 'error') {
      assert.equal(position, blocks.length - 1, 'something follows an error');
      assertErrorBody(body);
      return { ending: 'error', data };
    }
    checkEvent(body, seen);
  }
  assert.equal(seen.stage, 'stopped', 'the stream ends without message_stop');
  return { ending: 'complete', data };
}

function checkEvent(body: Json, seen: Seen): void {
  if (body.type !== 'message_start') assert.notEqual(seen.stage, 'before', `${body.type} before message_start`);
  switch (body.type) {
    case 'ping':
      return;
    case 'message_start':
      checkStart(body, seen);
      return;
    case 'content_block_start':
      checkBlockStart(body, seen);
      return;
    case 'content_block_delta':
      checkBlockDelta(body, seen);
      return;
    case 'content_block_stop':
      checkBlockStop(body, seen);
      return;
    case 'message_delta':
      checkDelta(body, seen);
      return;
    case 'message_stop':
      assert.equal(seen.stage, 'delta', 'message_stop without message_delta');
      seen.stage = 'stopped';
      return;
    default:
      assert.fail(`unknown event ${body.type}`);
  }
}

function checkStart({ message }: Json, seen: Seen): void {
  assert.equal(seen.stage, 'before', 'two message_start');
  seen.stage = 'blocks';
  assert.ok(typeof message.id === 'string' && message.id !== '', 'a message without id');
  assert.deepEqual([message.type, message.role, message.content], ['message', 'assistant', []]);
  assert.deepEqual([message.stop_reason, message.stop_sequence], [null, null]);
  assert.equal(typeof message.model, 'string');
  checkUsage(message.usage, seen);
}

function checkUsage(usage: Json, seen: Seen): void {
  assertObject(usage, 'usage');
  for (const name of ['input_tokens', 'output_tokens']) assertCount(usage[name], name);
  assert.ok(usage.output_tokens >= seen.output, 'output_tokens is not cumulative');
  seen.output = usage.output_tokens;
}

function checkBlockStart({ index, content_block: block }: Json, seen: Seen): void {
  assert.equal(seen.stage, 'blocks', 'a block after message_delta');
  assert.equal(seen.open, undefined, 'two blocks are open');
  assert.equal(index, seen.blocks, 'blocks are not numbered in order');
  assert.ok(Object.hasOwn(DELTAS, block.type) || WHOLE_BLOCKS.test(block.type), `unknown block ${block.type}`);
  if (block.type === 'thinking') assert.deepEqual([block.thinking, block.signature], ['', '']);
  if (block.type === 'text') assert.equal(block.text, '');
  if (block.type === 'tool_use' || block.type === 'server_tool_use') {
    assert.deepEqual(block.input, {}, 'a call begins with its input');
    assert.ok(typeof block.id === 'string' && block.id !== '', 'a call without id');
    assert.equal(typeof block.name, 'string');
  }
  seen.open = { type: block.type, input: '', signed: false };
}

function checkBlockDelta({ index, delta }: Json, { open, blocks }: Seen): void {
  assert.ok(open, 'a delta outside of a block');
  assert.equal(index, blocks, 'a delta of another block');
  assert.ok(DELTAS[open.type]?.includes(delta.type), `${delta.type} in a block of type ${open.type}`);
  assert.ok(!open.signed, 'something follows the signature of a block');
  switch (delta.type) {
    case 'text_delta':
      assert.equal(typeof delta.text, 'string');
      return;
    case 'thinking_delta':
      assert.equal(typeof delta.thinking, 'string');
      return;
    case 'signature_delta':
      assert.equal(typeof delta.signature, 'string');
      open.signed = true;
      return;
    case 'input_json_delta':
      assert.equal(typeof delta.partial_json, 'string');
      open.input += delta.partial_json;
      return;
    default:
      assertObject(delta.citation, 'citation');
  }
}

function checkBlockStop({ index }: Json, seen: Seen): void {
  assert.ok(seen.open, 'the end of a block that is not open');
  assert.equal(index, seen.blocks, 'the end of another block');
  if (seen.open.type === 'tool_use') seen.calls.push(seen.open.input);
  seen.open = undefined;
  seen.blocks += 1;
}

function checkDelta({ delta, usage }: Json, seen: Seen): void {
  assert.equal(seen.stage, 'blocks', 'two message_delta');
  assert.equal(seen.open, undefined, 'message_delta inside a block');
  seen.stage = 'delta';
  assertKeys(delta, ['stop_reason', 'stop_sequence', 'stop_details', 'container'], 'delta');
  checkUsage(usage, seen);
  assertStop(delta, seen.calls.length);
  if (delta.stop_reason !== 'tool_use') return;
  for (const input of seen.calls) assertArguments(input, 'input of a call');
}

/** Holds for whole responses too; `calls` is how many blocks of type `tool_use` there are. */
export function assertStop({ stop_reason: reason, stop_sequence: sequence }: Json, calls: number): void {
  assert.ok(STOP_REASONS.includes(reason), `unknown stop_reason ${reason}`);
  if (reason === 'stop_sequence') assert.equal(typeof sequence, 'string', 'no stop_sequence is named');
  else assert.equal(sequence, null, 'stop_sequence is set');
  assert.ok(reason !== 'tool_use' || calls > 0, 'tool_use without a call');
  assert.ok(reason !== 'end_turn' || calls === 0, 'calls that end with end_turn');
}

export function assertErrorBody(body: Json): void {
  assert.equal(body.type, 'error');
  assert.ok(ERROR_TYPES.includes(body.error?.type), `unknown error type ${body.error?.type}`);
  assert.equal(typeof body.error.message, 'string');
  assert.equal(typeof body.request_id, 'string');
}
