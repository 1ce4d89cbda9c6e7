/** Generated answers of upstreams that speak Responses, and the streams that say the same. */

import fc from 'fast-check';
import type { Json } from '../../../src/core/json/json.ts';
import {
  CUT_CALL,
  type Cut,
  count,
  cutterOf,
  input,
  interleaved,
  lengths,
  logprob,
  name,
  PICTURE,
  sometimes,
  state,
  text,
  type UpstreamAnswer,
  url,
} from './drawing.ts';

const annotation = fc.record({
  ...{ type: fc.constant('url_citation'), url, title: text, start_index: fc.constant(0), end_index: fc.constant(1) },
});

const contentPart = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('output_text'),
      text,
      annotations: fc.array(annotation, { maxLength: 2 }),
      logprobs: fc.array(logprob, { maxLength: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('refusal'), refusal: text }) },
);

const responsesItem = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      ...{ type: fc.constant('message'), role: fc.constant('assistant'), status: fc.constant('completed') },
      content: fc.array(contentPart, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('reasoning'),
      summary: fc.array(
        text.map((words) => ({ type: 'summary_text', text: words })),
        { maxLength: 2 },
      ),
      encrypted_content: state,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...{ type: fc.constant('function_call'), name, status: fc.constant('completed') },
      arguments: fc.oneof(
        input.map((value) => JSON.stringify(value)),
        fc.constant(''),
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('custom_tool_call'), name: fc.constant('free'), input: text }),
  },
  {
    weight: 1,
    arbitrary: text.map((query) => ({
      ...{ type: 'web_search_call', status: 'completed' },
      action: { type: 'search', query, queries: [query], sources: [{ type: 'url', url: 'https://example.com/a' }] },
    })),
  },
  {
    weight: 1,
    arbitrary: fc.constant({
      ...{ type: 'image_generation_call', status: 'completed', result: PICTURE, output_format: 'png' },
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'item_of_tomorrow', inner: [1] }) },
);

const responsesEnd = fc.constantFrom(
  { status: 'completed', incomplete_details: null },
  { status: 'completed', incomplete_details: null },
  { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
  { status: 'incomplete', incomplete_details: { reason: 'content_filter' } },
);

const responsesUsage = fc
  .record({ input: count, cached: count, output: count, reasoning: count })
  .map(({ input, cached, output, reasoning }) => ({
    ...{ input_tokens: input + cached + 1, input_tokens_details: { cached_tokens: cached } },
    ...{ output_tokens: output + reasoning + 1, output_tokens_details: { reasoning_tokens: reasoning } },
    total_tokens: input + cached + output + reasoning + 2,
  }));

export const responses = fc
  .record({
    items: fc.array(responsesItem, { minLength: 1, maxLength: 5 }),
    end: responsesEnd,
    usage: responsesUsage,
    lengths,
    interleave: fc.boolean(),
    isCut: sometimes,
    late: fc.array(state, { maxLength: 1 }),
  })
  .map((drawn): UpstreamAnswer => {
    const { usage, lengths, interleave, isCut } = drawn;
    const states = drawn.late.map((encrypted_content) => ({ type: 'reasoning', summary: [], encrypted_content }));
    const cut = { type: 'function_call', name: CUT_CALL, status: 'incomplete', arguments: '' };
    const end = isCut ? { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } } : drawn.end;
    const output: Json[] = [...drawn.items, ...(isCut ? [cut, ...states] : [])].map((item, index) => ({
      ...{ id: `item_${index}`, ...item },
      ...(item.type.endsWith('tool_call') || item.type === 'function_call' ? { call_id: `call_${index}` } : {}),
    }));
    const head = { id: 'resp_1', object: 'response', created_at: 7, model: 'm' };
    const whole = { ...head, ...end, output, usage };
    const begun = { ...head, status: 'in_progress', output: [], usage: null };
    const told = output.map((item, index) => itemEvents(item, index, cutterOf(lengths)));
    const events = [
      { type: 'response.created', response: begun },
      ...(interleave ? interleaved(told) : told.flat()),
      { type: `response.${end.status}`, response: whole },
    ];
    return {
      whole,
      frames: events.map((data, sequence_number) => ({ event: data.type, data: { ...data, sequence_number } })),
      isCut,
    };
  });

/** Members that an item gets in pieces. */
const GROWN = { content: [], summary: [], arguments: '', input: '' };

function itemEvents(item: Json, output_index: number, cut: Cut): Json[] {
  const about = { item_id: item.id, output_index };
  const grown = Object.fromEntries(Object.entries(GROWN).filter(([member]) => member in item));
  const { encrypted_content, result, ...announced } = item;
  const pieces = (type: string, text: string, place: Json, whole: Json) => [
    ...cut(text).map((delta) => ({ type: `response.${type}.delta`, ...about, ...place, delta })),
    { type: `response.${type}.done`, ...about, ...place, ...whole },
  ];
  const parts: Json[] = (item.content ?? []).flatMap((part: Json, content_index: number) => {
    const place = { content_index };
    const isText = part.type === 'output_text';
    const empty = isText ? { ...part, text: '', annotations: [], logprobs: [] } : { ...part, refusal: '' };
    return [
      { type: 'response.content_part.added', ...about, ...place, part: empty },
      ...(isText
        ? pieces('output_text', part.text, place, { text: part.text, logprobs: part.logprobs })
        : pieces('refusal', part.refusal, place, { refusal: part.refusal })),
      ...(part.annotations ?? []).map((annotation: Json, annotation_index: number) => ({
        ...{ type: 'response.output_text.annotation.added', ...about, ...place, annotation_index, annotation },
      })),
      { type: 'response.content_part.done', ...about, ...place, part },
    ];
  });
  const summaries: Json[] = (item.summary ?? []).flatMap(({ text }: Json, summary_index: number) =>
    pieces('reasoning_summary_text', text, { summary_index }, { text }),
  );
  const called =
    item.type === 'function_call'
      ? pieces('function_call_arguments', item.arguments, {}, { arguments: item.arguments })
      : item.type === 'custom_tool_call'
        ? pieces('custom_tool_call_input', item.input, {}, { input: item.input })
        : [];
  return [
    { type: 'response.output_item.added', output_index, item: { ...announced, ...grown, status: 'in_progress' } },
    ...[...parts, ...summaries, ...called],
    { type: 'response.output_item.done', output_index, item },
  ];
}
