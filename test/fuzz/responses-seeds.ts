/** Good wires of the Responses protocol to start from. */

import type { Json } from '../../src/core/json/json.ts';
import { parseEvents } from '../../src/core/sse.ts';
import { COMPLETED, FAILED, frame, streamOf, WHOLE } from '../protocols/responses-wire.ts';
import type { Frame } from './mutation.ts';
import type { Seeds } from './seeds.ts';

const REQUESTS: Json[] = [
  { model: 'm', input: 'Hello', max_output_tokens: 100, metadata: { a: 'b' } },
  {
    model: 'm',
    instructions: 'Be short.',
    store: false,
    include: ['reasoning.encrypted_content'],
    reasoning: { effort: 'low', summary: 'auto' },
    text: { format: { type: 'json_schema', name: 'x', schema: { type: 'object' } }, verbosity: 'low' },
    tools: [
      { type: 'function', name: 'f', parameters: { type: 'object' }, strict: true },
      { type: 'namespace', name: 'n', tools: [{ type: 'custom', name: 'c', format: { type: 'text' } }] },
    ],
    tool_choice: { type: 'function', name: 'f' },
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' },
      { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'done' },
    ],
  },
];

export const RESPONSES_SEEDS: Seeds = {
  requests: REQUESTS,
  answers: [WHOLE],
  streams: [parseEvents(Buffer.from(streamOf('Hello'))) as Frame[], parseEvents(Buffer.from(frame(FAILED))) as Frame[]],
  errors: [
    FAILED,
    { type: 'error', code: 'server_error', message: 'flat', param: null, sequence_number: 3 },
    { type: 'error', error: { type: 'server_error', code: null, message: 'nested', param: null } },
    { code: 'x', error: 'text' },
    { detail: 'words' },
    COMPLETED,
  ],
};
