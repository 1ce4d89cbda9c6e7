/** Wire of a provider that speaks only Responses: its answers, whole and as a stream, with all members and events. */

import type { ServerResponse } from 'node:http';
import type { Json } from '../../src/core/json/json.ts';
import { answerJson } from '../gateway/harness.ts';
import { frame } from '../protocols/responses-wire.ts';
import type { Step, Wire } from './upstreams.ts';

const RESPONSE: Json = {
  ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'm', status: 'in_progress', completed_at: null },
  ...{ error: null, incomplete_details: null, instructions: null, output: [], usage: null, store: false },
  ...{ parallel_tool_calls: true, previous_response_id: null, tool_choice: 'auto', tools: [], metadata: {} },
  ...{ text: { format: { type: 'text' } }, reasoning: { effort: null, summary: null }, truncation: 'disabled' },
  ...{ temperature: 1, top_p: 1, top_logprobs: 0, presence_penalty: 0, frequency_penalty: 0, background: false },
  ...{ max_output_tokens: null, max_tool_calls: null, service_tier: 'default', safety_identifier: null },
  ...{ prompt_cache_key: null },
};
const USAGE: Json = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 15,
};
/** Items that a model writes, as far as histories hold them. */
const ANSWERED = ['reasoning', 'function_call', 'custom_tool_call'];

export const responses: Wire = {
  whole: (step, body) => completed(itemsOf(step, body)),
  stream: (step, body) => eventsOf(itemsOf(step, body)).map(frame).join(''),
};

export function completed(output: Json[]): Json {
  return { ...RESPONSE, status: 'completed', completed_at: 2, output, usage: USAGE };
}

/** The state of reasoning is there only if it was asked for. */
export function itemsOf(step: Step, { include = [] }: Json): Json[] {
  if ('text' in step) {
    const content = [{ type: 'output_text', text: step.text, annotations: [], logprobs: [] }];
    return [{ id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content }];
  }
  const { thought, signature, calls } = step;
  const state = include.includes('reasoning.encrypted_content') && { encrypted_content: signature };
  const summary = [{ type: 'summary_text', text: thought }];
  const items = calls.map(({ id, name, args }) => {
    const about = { id: id.replace('call_', 'fc_'), type: 'function_call', status: 'completed' };
    return { ...about, call_id: id, name, arguments: JSON.stringify(args) };
  });
  const id = String(calls[0]?.id).replace('call_', 'rs_');
  return [{ id, type: 'reasoning', summary, ...state }, ...items];
}

export function eventsOf(items: Json[]): Json[] {
  const events: Json[] = [
    { type: 'response.created', response: RESPONSE },
    { type: 'response.in_progress', response: RESPONSE },
    ...items.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item: begun(item) },
      ...partsOf(item).map((event) => ({ item_id: item.id, output_index, ...event })),
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: 'response.completed', response: completed(items) },
  ];
  return events.map((event, sequence_number) => ({ sequence_number, ...event }));
}

function begun(item: Json): Json {
  if (item.type === 'reasoning') return { ...item, summary: [] };
  const inProgress = { ...item, status: 'in_progress' };
  return item.type === 'message' ? { ...inProgress, content: [] } : { ...inProgress, arguments: '' };
}

function partsOf(item: Json): Json[] {
  if (item.type === 'function_call') {
    const { arguments: args, name } = item;
    return [
      ...halves(args).map((delta) => ({ type: 'response.function_call_arguments.delta', delta })),
      { type: 'response.function_call_arguments.done', name, arguments: args },
    ];
  }
  const isMessage = item.type === 'message';
  const [part] = isMessage ? item.content : item.summary;
  const name = isMessage ? 'content_part' : 'reasoning_summary_part';
  const text = isMessage ? 'output_text' : 'reasoning_summary_text';
  const place = isMessage ? { content_index: 0 } : { summary_index: 0 };
  const logprobs = isMessage && { logprobs: [] };
  return [
    { type: `response.${name}.added`, ...place, part: { ...part, text: '' } },
    ...halves(part.text).map((delta) => ({ type: `response.${text}.delta`, ...place, delta, ...logprobs })),
    { type: `response.${text}.done`, ...place, text: part.text, ...logprobs },
    { type: `response.${name}.done`, ...place, part },
  ];
}

function halves(text: string): string[] {
  return [text.slice(0, 5), text.slice(5)];
}

export function isAnswered({ type, role }: Json): boolean {
  return role === 'assistant' || ANSWERED.includes(type);
}

/** Refuses a history that OpenAI refuses: a call without its output, or an output without its call. True if it did. */
export function refusesHistory(response: ServerResponse, { input }: Json): boolean {
  const idsOf = (type: string): string[] =>
    [input].flat().flatMap((item: Json) => (item.type === type ? [item.call_id] : []));
  const [calls, outputs] = [idsOf('function_call'), idsOf('function_call_output')];
  const message =
    (calls.some((id) => !outputs.includes(id)) && 'No tool output found for a function call.') ||
    (outputs.some((id) => !calls.includes(id)) && 'No tool call found for an output.');
  if (!message) return false;
  answerJson(response, { error: { message, type: 'invalid_request_error', param: 'input', code: null } }, 400);
  return true;
}
