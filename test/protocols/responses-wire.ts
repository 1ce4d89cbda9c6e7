/** Wires of the Responses protocol for tests: one answer, whole and as a stream, and its failure. */

import type { Json } from '../../src/core/json/json.ts';

export const REASONING: Json = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'sealed-by-upstream' };

export const MESSAGE: Json = {
  id: 'msg_1',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Hello', annotations: [], logprobs: [] }],
};

export const USAGE: Json = {
  input_tokens: 30,
  input_tokens_details: { cached_tokens: 10, cache_write_tokens: 4 },
  output_tokens: 12,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 42,
};

export function responseOf(changes: Json): Json {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1_793_491_200,
    status: 'in_progress',
    completed_at: null,
    error: null,
    incomplete_details: null,
    instructions: 'The "model": "m-2026" is asked.',
    max_output_tokens: null,
    model: 'm-2026',
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    store: true,
    tool_choice: 'auto',
    tools: [],
    usage: null,
    metadata: { model: 'mine' },
    ...changes,
  };
}

export const WHOLE: Json = responseOf({ status: 'completed', output: [REASONING, MESSAGE], usage: USAGE });

export const COMPLETED: Json = { type: 'response.completed', sequence_number: 12, response: WHOLE };

export const FAILED: Json = {
  type: 'response.failed',
  sequence_number: 3,
  response: responseOf({
    status: 'failed',
    error: { code: 'server_error', message: 'The model broke.' },
    usage: USAGE,
  }),
};

export function frame(event: Json): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The frames of a stream up to its text. */
export function preambleOf(changes: Json = {}): Json[] {
  const response = responseOf(changes);
  return [
    { type: 'response.created', sequence_number: 0, response },
    { type: 'response.in_progress', sequence_number: 1, response },
  ];
}

export function deltaOf(text: string, sequence: number): Json {
  return {
    type: 'response.output_text.delta',
    sequence_number: sequence,
    item_id: 'msg_1',
    output_index: 1,
    content_index: 0,
    delta: text,
    logprobs: [],
    obfuscation: 'x1',
  };
}

/** A whole stream, one delta per letter. */
export function eventsOf(text: string, changes: Json = {}): Json[] {
  const done = { ...MESSAGE, content: [{ type: 'output_text', text, annotations: [], logprobs: [] }] };
  const events: Json[] = [
    ...preambleOf(changes),
    { type: 'response.output_item.added', output_index: 0, item: { ...REASONING, encrypted_content: '' } },
    { type: 'response.output_item.done', output_index: 0, item: REASONING },
    { type: 'response.output_item.added', output_index: 1, item: { ...MESSAGE, status: 'in_progress', content: [] } },
    {
      ...{ type: 'response.content_part.added', item_id: 'msg_1', output_index: 1, content_index: 0 },
      part: { type: 'output_text', text: '', annotations: [], logprobs: [] },
    },
    ...[...text].map((letter) => deltaOf(letter, 0)),
    {
      ...{ type: 'response.output_text.done', item_id: 'msg_1', output_index: 1, content_index: 0 },
      ...{ text, logprobs: [] },
    },
    {
      ...{ type: 'response.content_part.done', item_id: 'msg_1', output_index: 1, content_index: 0 },
      part: done.content[0],
    },
    { type: 'response.output_item.done', output_index: 1, item: done },
    { type: 'response.completed', response: { ...WHOLE, ...changes, output: [REASONING, done] } },
  ];
  return events.map((event, index) => ({ ...event, sequence_number: index }));
}

export function streamOf(text: string, changes: Json = {}): string {
  return eventsOf(text, changes).map(frame).join('');
}
