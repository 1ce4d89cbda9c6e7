/** Every field of a chat completion, as the official SDK's types have it, is carried, named as dropped, or refused by name. */

import { join } from 'node:path';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS } from '../gateway/harness.ts';
import { type FieldCase, FieldCases, type Samples } from './field-cases.ts';
import { type Exceptions, testFields } from './field-fates.ts';
import { readSdkTypes, SAMPLE } from './sdk-types.ts';

const TYPES = join(import.meta.dirname, 'node_modules/openai/resources/chat/completions/completions.d.ts');
const sdk = readSdkTypes(TYPES);

/** Members of a request that are about the gateway's own work, or that have their own cases. */
const OWN = ['model', 'stream', 'messages', 'tools'];
const SCHEMA = { type: 'object', properties: { [SAMPLE]: { type: 'string' } } };
const DATA = Buffer.from(SAMPLE).toString('base64');

const SAMPLES: Samples = {
  arguments: [`{"a":"${SAMPLE}"}`],
  parameters: [SCHEMA],
  schema: [SCHEMA],
  url: [`https://example.com/${SAMPLE}.png`, `data:image/png;base64,${DATA}`],
  file_data: [`data:application/pdf;base64,${DATA}`],
  data: [DATA],
  tools: [[{ type: 'function', function: { name: SAMPLE } }]],
};

const WITHOUT_EFFECT: Exceptions = [
  ['it is the default', /^modalities = \["text"\]$/],
  ['it is the default', /^n = 1$/],
  ['it is the default', /^parallel_tool_calls = true$/],
  ['it is the default', /^response_format = \{"type":"text"\}$/],
  ['it is the default', /^service_tier = "auto"$/],
  ['it is the default', /\.image_url\.detail = "auto"$/],
  ['it shapes the answer, which the gateway writes', /^stream_options\b/],
  ['a schema needs no name elsewhere', /\.json_schema(\.name)? = ("sample"|\{"name":"sample"\})$/],
  ['schemas of answers are always kept elsewhere', /\.json_schema\.strict = true$/],
  ['without parameters there is nothing to be strict about', /^tools\.function\.strict = true$/],
];

const user = (content: Json): Json => ({ role: 'user', content });
const tool = { type: 'function', function: { name: SAMPLE, parameters: { type: 'object', properties: {} } } };
const other = { type: 'function', function: { name: 'other', parameters: { type: 'object', properties: {} } } };

/** A request that is complete where one field needs another. */
function request(more: Json): Json {
  const body = structuredClone({ messages: [user('Hi')], tools: [other], ...more });
  if (body.top_logprobs) body.logprobs = true;
  for (const message of body.messages) {
    if (message.role === 'assistant') message.content ??= 'Hello';
    if (!Array.isArray(message.content)) continue;
    for (const { file } of message.content)
      if (file && !file.file_id && !file.file_data) file.file_data ??= 'data:text/plain;base64,SGk=';
  }
  return body;
}

function* allCases(): Generator<FieldCase> {
  const cases = new FieldCases(sdk, SAMPLES);
  const members = sdk.membersOf('ChatCompletionCreateParamsBase').filter(({ name }) => !OWN.includes(name));
  yield* cases.of(members, { path: '', base: {}, place: (given) => request({ tools: [tool, other], ...given }) });
  for (const shape of sdk.shapesOf('ChatCompletionMessageParam')) {
    const base = cases.leastOf(shape);
    const place = (message: Json) =>
      request({ messages: [user('Hi'), ...before(message), message, ...after(message)] });
    yield* cases.of(shape.members, { path: `messages<${shape.name}>`, base, place });
  }
  for (const shape of sdk.shapesOf('ChatCompletionTool')) {
    const place = (object: Json) => request({ tools: [object, other] });
    yield* cases.of(shape.members, { path: `tools<${shape.name}>`, base: cases.leastOf(shape), place });
  }
}

/** The call that a result belongs to. */
function before({ role, tool_call_id, name = SAMPLE }: Json): Json[] {
  const call = { name, arguments: '{}' };
  if (role === 'tool')
    return [{ role: 'assistant', tool_calls: [{ id: tool_call_id, type: 'function', function: call }] }];
  return role === 'function' ? [{ role: 'assistant', content: null, function_call: call }] : [];
}

/** Models refuse a call without its result. */
function after({ tool_calls, function_call }: Json): Json[] {
  const results = (tool_calls ?? []).map(({ id }: Json) => ({ role: 'tool', tool_call_id: id, content: 'done' }));
  if (function_call) results.push({ role: 'function', name: function_call.name, content: 'done' });
  return [...results, user('And now?')];
}

testFields('chat completions', {
  protocol: 'chat',
  headers: HEADERS.chat,
  path: () => '/v1/chat/completions',
  body: (given, model) => ({ ...given, model }),
  /** Not every server knows the newer names, which its settings may choose. */
  arrives: ({ max_completion_tokens, messages, ...body }) => ({
    ...body,
    ...(max_completion_tokens && { max_tokens: max_completion_tokens }),
    messages: messages.map((message: Json) =>
      message.role === 'developer' ? { ...message, role: 'system' } : message,
    ),
  }),
  cases: allCases,
  leastCases: 100,
  withoutEffect: WITHOUT_EFFECT,
  aliases: { cache_control: /\.prompt_cache_breakpoint\b/ },
});
