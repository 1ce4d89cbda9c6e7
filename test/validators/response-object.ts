/** The response object and its items as the gateway writes them: the 31 members of Open Responses, all there and typed. */

import assert from 'node:assert/strict';
import type { Json } from '../../src/core/json/json.ts';
import { assertArguments, assertCount, assertObject } from './frames.ts';

type Kind = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object';

/** A question mark: or null. */
export const MEMBERS: Record<string, `${Kind}${'?' | ''}`> = {
  id: 'string',
  object: 'string',
  created_at: 'integer',
  completed_at: 'integer?',
  status: 'string',
  incomplete_details: 'object?',
  model: 'string',
  previous_response_id: 'string?',
  output: 'array',
  error: 'object?',
  tools: 'array',
  truncation: 'string',
  parallel_tool_calls: 'boolean',
  text: 'object',
  top_p: 'number',
  presence_penalty: 'number',
  frequency_penalty: 'number',
  top_logprobs: 'integer',
  temperature: 'number',
  reasoning: 'object?',
  usage: 'object?',
  max_output_tokens: 'integer?',
  max_tool_calls: 'integer?',
  store: 'boolean',
  background: 'boolean',
  service_tier: 'string',
  metadata: 'object',
  safety_identifier: 'string?',
  prompt_cache_key: 'string?',
};

/** Members of more than one type. */
const OTHERS = ['instructions', 'tool_choice'];

const STATUSES = ['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'];

/** The prefixes of ids by the type of the item. */
const PREFIXES: Record<string, string> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  image_generation_call: 'ig',
  web_search_call: 'ws',
  shell_call: 'sh',
  local_shell_call: 'lsh',
  apply_patch_call: 'apc',
};

const MAX_ID_CHARACTERS = 64;

export function assertResponse(response: Json): void {
  for (const [name, kind] of Object.entries(MEMBERS)) {
    const isNull = kind.endsWith('?') && response[name] === null;
    assert.ok(isNull || kindOf(response[name], kind), `${name} is no ${kind}: ${JSON.stringify(response[name])}`);
  }
  for (const name of OTHERS) assert.ok(response[name] !== undefined, `${name} is missing`);
  assert.equal(response.object, 'response');
  assert.ok(STATUSES.includes(response.status), `unknown status ${response.status}`);
  assert.equal(response.completed_at !== null, response.status === 'completed', 'completed_at tells another status');
  assert.equal(response.incomplete_details !== null, response.status === 'incomplete', 'incomplete without a reason');
  assert.equal(response.error !== null, response.status === 'failed', 'failed without an error');
  assertId(response.id, 'resp');
  assertObject(response.text.format, 'text.format');
  for (const tool of response.tools) {
    if (tool.type !== 'function') continue;
    for (const name of ['description', 'parameters', 'strict'])
      assert.ok(tool[name] !== undefined, `a tool without ${name}`);
  }
  const ids = response.output.map((item: Json) => item.id);
  assert.equal(new Set(ids).size, ids.length, 'two items have the same id');
  for (const item of response.output) assertItem(item, response.status);
  if (response.status === 'in_progress') assert.equal(response.usage, null, 'usage of an answer in progress');
  if (response.usage !== null) assertUsage(response.usage);
}

function kindOf(value: unknown, kind: string): boolean {
  switch (kind.replace('?', '')) {
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return Number.isSafeInteger(value);
    default:
      return typeof value === kind.replace('?', '');
  }
}

export function assertId(id: unknown, prefix: string): void {
  assert.ok(
    typeof id === 'string' && new RegExp(`^${prefix}_[a-zA-Z0-9_-]*$`).test(id),
    `not an id of ${prefix}: ${id}`,
  );
  assert.ok(id.length <= MAX_ID_CHARACTERS, `an id of ${id.length} characters`);
}

function assertUsage(usage: Json): void {
  const { input_tokens: input, output_tokens: output, total_tokens: total } = usage;
  for (const [name, value] of Object.entries({ input, output, total })) assertCount(value, name);
  assert.equal(total, input + output);
  assertCount(usage.input_tokens_details?.cached_tokens, 'cached_tokens');
  assertCount(usage.output_tokens_details?.reasoning_tokens, 'reasoning_tokens');
}

/** A complete item of an answer with `status`. */
export function assertItem(item: Json, status: string): void {
  const prefix = PREFIXES[item.type] ?? assert.fail(`unknown item ${item.type}`);
  assertId(item.id, prefix);
  const mayBeCut = status === 'incomplete' && item.status === 'incomplete';
  const mayFail = item.type === 'web_search_call' && item.status === 'failed';
  assert.ok(
    item.status === 'completed' || mayBeCut || mayFail,
    `an item that is ${item.status} in an answer that is ${status}`,
  );
  switch (item.type) {
    case 'message':
      assert.equal(item.role, 'assistant');
      assert.ok(item.content.length > 0, 'a message without content');
      for (const part of item.content) assertPart(part);
      return;
    case 'reasoning':
      assert.ok(item.summary.length > 0 || item.encrypted_content !== undefined, 'reasoning without text or state');
      for (const part of item.summary) assert.deepEqual(Object.keys(part), ['type', 'text']);
      assert.ok(item.encrypted_content !== null, 'state that is null');
      return;
    case 'function_call':
      assert.ok(item.call_id && item.name, 'a call without id or name');
      if (item.status === 'completed') assertArguments(item.arguments || '-', 'arguments');
      return;
    case 'custom_tool_call':
      assert.ok(item.call_id && item.name, 'a call without id or name');
      assert.equal(typeof item.input, 'string');
      return;
    case 'web_search_call':
      assert.equal(item.action.type, 'search');
      assert.ok(
        item.action.queries.every((query: unknown) => typeof query === 'string'),
        'queries that are no text',
      );
      return;
    default:
      return;
  }
}

export function assertPart(part: Json): void {
  if (part.type === 'refusal') {
    assert.ok(typeof part.refusal === 'string' && part.refusal !== '', 'a refusal without words');
    return;
  }
  assert.equal(part.type, 'output_text');
  assert.equal(typeof part.text, 'string');
  assert.ok(Array.isArray(part.annotations) && Array.isArray(part.logprobs), 'lists of a text are missing');
  for (const annotation of part.annotations) assertAnnotation(annotation, part.text.length);
}

function assertAnnotation({ type, url, title, start_index, end_index }: Json, length: number): void {
  assert.equal(type, 'url_citation');
  assert.equal(typeof url, 'string');
  assert.equal(typeof title, 'string');
  assert.ok(0 <= start_index && start_index <= end_index && end_index <= length, 'offsets outside of the text');
}
