/** Answers of upstreams with each member and variant that the official SDKs' types have, whole and as events of a stream. */

import { join } from 'node:path';
import type { Json } from '../../src/core/json/json.ts';
import { type FieldCase, FieldCases, type Samples } from './field-cases.ts';
import { type Member, readSdkTypes, SAMPLE, type SdkTypes } from './sdk-types.ts';
import type { UpstreamProtocol } from './upstreams.ts';

/** A text of every answer. */
export const SAID = 'Hello from the model';

export interface AnswerCase {
  path: string;
  whole: Json;
  /** Data of the events of the same answer. */
  events: Json[];
}

const MODULES = join(import.meta.dirname, 'node_modules');
const DATA = Buffer.from(SAMPLE).toString('base64');
const SAMPLES: Samples = { url: [`https://example.com/${SAMPLE}.png`], data: [DATA], arguments: ['{"a":"sample"}'] };

const openai = readSdkTypes(join(MODULES, 'openai/resources/chat/completions/completions.d.ts'));
const responses = readSdkTypes(join(MODULES, 'openai/resources/responses/responses.d.ts'));
const anthropic = readSdkTypes(join(MODULES, '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts'));
const genai = readSdkTypes(join(MODULES, '@google/genai/dist/genai.d.ts'), {
  Content: { parts: [{ text: SAMPLE }], role: 'model' },
  Blob_2: { data: DATA, mimeType: 'image/png' },
  FileData: { fileUri: `https://example.com/${SAMPLE}.png`, mimeType: 'image/png' },
  FunctionCall: { name: SAMPLE },
});

/** Cases of the members of a type but for some, all of them as if they were optional. */
function casesOf(
  sdk: SdkTypes,
  name: string,
  { path, base, place, without }: { path: string; base: Json; place(object: Json): Json; without: string[] },
): Iterable<FieldCase> {
  const members = sdk.membersOf(name).filter((member) => !without.includes(member.name));
  return new FieldCases(sdk, SAMPLES).of(optional(members), { path, base, place });
}

function optional(members: readonly Member[]): Member[] {
  return members.map((member) => ({ ...member, isOptional: true }));
}

/** Each variant of a union, with each of its members. */
function* variantsOf(
  sdk: SdkTypes,
  name: string,
  place: (object: Json) => Json,
  unknown: Json = { type: 'sample_of_tomorrow', id: SAMPLE, [SAMPLE]: { [SAMPLE]: [1] } },
): Generator<FieldCase> {
  const cases = new FieldCases(sdk, SAMPLES);
  for (const shape of sdk.shapesOf(name)) {
    const [path, base] = [`<${shape.name}>`, cases.leastOf(shape)];
    yield { path, value: base, given: place(base), other: place(base) };
    yield* cases.of(shape.members, { path, base, place });
  }
  yield { path: '<unknown>', value: unknown, given: place(unknown), other: place(unknown) };
}

const chatUsage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const choice = { index: 0, message: { role: 'assistant', content: SAID }, finish_reason: 'stop', logprobs: null };
const completion = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [choice], usage: chatUsage };

function* chatAnswers(): Generator<AnswerCase> {
  const withMessage = (message: Json): Json => ({ ...completion, choices: [{ ...choice, message }] });
  const wholes = [
    ...casesOf(openai, 'ChatCompletion', {
      ...{ path: '', base: completion, place: (whole) => whole },
      without: ['id', 'object', 'model', 'created', 'choices', 'usage'],
    }),
    ...casesOf(openai, 'ChatCompletionMessage', {
      ...{ path: 'message', base: choice.message, place: withMessage },
      without: ['role', 'content'],
    }),
    ...variantsOf(
      openai,
      'ChatCompletionMessageToolCall',
      (call) => withMessage({ ...choice.message, tool_calls: [call] }),
      // A call without a name is an error.
      { id: SAMPLE, type: 'function', function: { name: SAMPLE, arguments: '{}' }, [SAMPLE]: SAMPLE },
    ),
  ].map(({ path, given }) => ({ path, whole: given }));
  for (const { path, whole } of wholes) {
    const { choices, usage, ...envelope } = { ...whole, object: 'chat.completion.chunk' };
    const [{ message, finish_reason, ...rest }] = choices;
    const calls = message.tool_calls?.map((call: Json, index: number) => ({ index, ...call }));
    const delta = { ...message, ...(calls && { tool_calls: calls }) };
    const events = [
      { ...envelope, choices: [{ ...rest, delta, finish_reason: null }] },
      { ...envelope, choices: [{ index: 0, delta: {}, finish_reason }] },
      { ...envelope, choices: [], usage },
    ];
    yield { path, whole, events };
  }
}

const messagesUsage = { input_tokens: 10, output_tokens: 5 };
const said = { type: 'text', text: SAID };
const message = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [said] },
  ...{ stop_reason: 'end_turn', stop_sequence: null, usage: messagesUsage },
};

function* messagesAnswers(): Generator<AnswerCase> {
  const without = ['id', 'type', 'role', 'model', 'content', 'usage', 'stop_reason'];
  const wholes = [
    ...casesOf(anthropic, 'BetaMessage', { path: '', base: message, place: (whole) => whole, without }),
    ...casesOf(anthropic, 'BetaUsage', {
      ...{ path: 'usage', base: messagesUsage, place: (usage: Json) => ({ ...message, usage }) },
      without: ['input_tokens', 'output_tokens'],
    }),
    ...variantsOf(anthropic, 'BetaContentBlock', (block) => ({ ...message, content: [block, said] })),
  ];
  for (const { path, given: whole } of wholes) {
    const { content, stop_reason, stop_sequence, usage, ...start } = whole;
    yield { path, whole, events: messageEvents({ content, stop_reason, stop_sequence, usage, start }) };
  }
  const cases = new FieldCases(anthropic, { ...SAMPLES, partial_json: ['{}'] });
  for (const shape of anthropic.shapesOf('BetaRawContentBlockDelta')) {
    const delta = cases.leastOf(shape);
    const block = GROWN[delta.type];
    if (!block) throw new Error(`no block has a ${delta.type}`);
    const events = messageEvents({ ...message, content: [block, said], start: message });
    const end = events.findIndex(({ type }) => type === 'content_block_stop');
    events.splice(end, 0, { type: 'content_block_delta', index: 0, delta });
    yield { path: `delta<${shape.name}>`, whole: message, events };
  }
}

const thinking = { type: 'thinking', thinking: '', signature: '' };
/** The block that a delta adds to. */
const GROWN: Record<string, Json> = {
  text_delta: said,
  citations_delta: said,
  input_json_delta: { type: 'tool_use', id: 'toolu_1', name: SAMPLE, input: {} },
  thinking_delta: thinking,
  signature_delta: thinking,
  compaction_delta: { type: 'compaction', content: null },
};

function messageEvents({ content, stop_reason, stop_sequence, usage, start }: Json): Json[] {
  const events: Json[] = [
    { type: 'message_start', message: { ...start, content: [], stop_reason: null, stop_sequence: null, usage } },
    { type: 'event_of_tomorrow', [SAMPLE]: SAMPLE },
  ];
  for (const [index, block] of content.entries()) {
    events.push({ type: 'content_block_start', index, content_block: block });
    events.push({ type: 'content_block_delta', index, delta: { type: 'delta_of_tomorrow', [SAMPLE]: SAMPLE } });
    events.push({ type: 'content_block_stop', index });
  }
  events.push({ type: 'message_delta', delta: { stop_reason, stop_sequence }, usage });
  return [...events, { type: 'message_stop' }];
}

const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
const candidate = { index: 0, content: { role: 'model', parts: [{ text: SAID }] }, finishReason: 'STOP' };
const generated = { candidates: [candidate], usageMetadata, modelVersion: 'm', responseId: 'r' };

function* generateAnswers(): Generator<AnswerCase> {
  const withCandidate = (given: Json): Json => ({ ...generated, candidates: [given] });
  const withPart = (part: Json): Json =>
    withCandidate({ ...candidate, content: { role: 'model', parts: [part, { text: SAID }] } });
  const wholes = [
    ...casesOf(genai, 'GenerateContentResponse', {
      ...{ path: '', base: generated, place: (whole) => whole },
      without: ['sdkHttpResponse', 'automaticFunctionCallingHistory', 'candidates', 'usageMetadata', 'modelVersion'],
    }),
    ...casesOf(genai, 'Candidate', {
      ...{ path: 'candidates', base: candidate, place: withCandidate },
      without: ['content', 'index', 'finishReason'],
    }),
    ...casesOf(genai, 'Part', { path: 'parts', base: {}, place: withPart, without: [] }),
    ...casesOf(genai, 'GenerateContentResponseUsageMetadata', {
      ...{ path: 'usageMetadata', base: usageMetadata, without: [] },
      place: (usage) => ({ ...generated, usageMetadata: usage }),
    }),
  ];
  for (const { path, given } of wholes) yield { path, whole: given, events: [given] };
  const unknown = withPart({ partOfTomorrow: { [SAMPLE]: SAMPLE } });
  yield { path: 'parts<unknown>', whole: unknown, events: [unknown] };
}

const item = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text: SAID, annotations: [] }],
};
const responsesUsage = {
  ...{ input_tokens: 10, input_tokens_details: { cached_tokens: 0 } },
  ...{ output_tokens: 5, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 15 },
};
const response = {
  ...{ id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'm', output: [item] },
  usage: responsesUsage,
};

function* responsesAnswers(): Generator<AnswerCase> {
  const wholes = [
    ...casesOf(responses, 'Response', {
      ...{ path: '', base: response, place: (whole) => whole },
      without: [
        ...['id', 'object', 'created_at', 'status', 'model', 'output', 'usage', 'output_text', 'error'],
        // It echoes the request.
        ...['tools', 'tool_choice', 'instructions', 'prompt', 'text', 'incomplete_details'],
      ],
    }),
    ...variantsOf(responses, 'ResponseOutputItem', (given) => ({ ...response, output: [given, item] })),
  ];
  for (const { path, given: whole } of wholes) {
    const begun = { ...whole, status: 'in_progress', output: [], usage: null };
    const events = numbered([{ type: 'response.created', response: begun }, ...itemEvents(whole.output), end(whole)]);
    yield { path, whole, events };
  }
  for (const shape of responses.shapesOf('ResponseStreamEvent')) {
    const event = new FieldCases(responses, SAMPLES).leastOf(shape);
    if (/^(error|response\.(created|completed|failed|incomplete))$/.test(event.type)) continue;
    // A call that never began is an error.
    if (/(function_call_arguments|custom_tool_call_input)/.test(event.type)) continue;
    const begun = { ...response, status: 'in_progress', output: [], usage: null };
    // It is about an item that nobody knows.
    const stray = { ...event, output_index: 9, item_id: 'item_9', ...(event.response && { response: begun }) };
    const events = [{ type: 'response.created', response: begun }, ...itemEvents([item]), stray, end(response)];
    yield { path: `event<${shape.name}>`, whole: response, events: numbered(events) };
  }
}

function itemEvents(output: Json[]): Json[] {
  return output.flatMap((given, output_index) => {
    const added = { ...given, ...(given.type === 'message' && { status: 'in_progress', content: [] }) };
    const at = { item_id: given.id, output_index, content_index: 0 };
    const [part] = given === item ? item.content : [];
    return [
      { type: 'response.output_item.added', output_index, item: added },
      ...(part
        ? [
            { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
            { type: 'response.output_text.delta', ...at, delta: SAID },
            { type: 'response.output_text.done', ...at, text: SAID },
            { type: 'response.content_part.done', ...at, part },
          ]
        : []),
      { type: 'response.output_item.done', output_index, item: given },
    ];
  });
}

function end(whole: Json): Json {
  return { type: 'response.completed', response: whole };
}

function numbered(events: Json[]): Json[] {
  return events.map((event, sequence_number) => ({ ...event, sequence_number }));
}

export const ANSWERS: Record<UpstreamProtocol, () => Iterable<AnswerCase>> = {
  chat: chatAnswers,
  messages: messagesAnswers,
  generate: generateAnswers,
  responses: responsesAnswers,
};
