/** Responses, as their clients read them. */

import { type Json, read } from '../../../src/core/json/json.ts';
import {
  type Answer,
  type Choice,
  type Counts,
  canonical,
  type End,
  emptyChoice,
  eventsIn,
  type Reader,
  unique,
} from '../answer.ts';
import { canonicalText } from './chat.ts';

/** By the reason of an incomplete response, or the status of another one. */
export const ENDS: Record<string, End> = {
  completed: 'stop',
  max_output_tokens: 'length',
  content_filter: 'filtered',
};

function readBody(body: Json): Answer {
  const { status = 'completed', incomplete_details: incomplete, output = [] } = body;
  if (['failed', 'cancelled', 'queued', 'in_progress'].includes(status)) throw new Error(`error: it is ${status}`);
  const choice = emptyChoice();
  const items: Json[] = output;
  const messages = items.filter(({ type }) => type === 'message');
  choice.text = messages
    .map(textOf)
    .filter((text) => text !== '')
    .join('\n\n');
  choice.refusal = partsOf(messages)
    .map(({ refusal = '' }) => refusal)
    .join('');
  choice.reasoning = items.map((item) => (item.type === 'reasoning' ? reasoningOf(item) : '')).join('');
  choice.calls = items.flatMap(callOf);
  choice.citations = unique(
    partsOf(messages)
      .flatMap(({ annotations = [] }) => annotations.map(({ url }: Json) => url))
      .filter((url) => typeof url === 'string'),
  );
  choice.media = items.flatMap(({ type, result }) =>
    type === 'image_generation_call' && result ? [`image ${result.length}`] : [],
  );
  choice.end = endOf(ENDS[incomplete?.reason ?? 'completed'] ?? 'length', choice);
  return { choices: [choice], counts: countsOf(body.usage) };
}

function endOf(end: End, { calls, refusal }: Choice): End {
  if (refusal !== '' && end === 'stop') return 'refused';
  return calls.length > 0 && end === 'stop' ? 'calls' : end;
}

function partsOf(messages: Json[]): Json[] {
  return messages.flatMap(({ content }) => (Array.isArray(content) ? content : [{ text: content }]));
}

function textOf(message: Json): string {
  return partsOf([message])
    .map(({ text = '' }) => text)
    .join('');
}

/** The text itself where there is one, else what sums it up. */
function reasoningOf({ content, summary }: Json): string {
  const texts = [content, summary].map((parts: Json[]) => (parts ?? []).map(({ text }) => text).join('\n\n'));
  return texts.find((text) => text !== '') ?? '';
}

function callOf({ type, name, arguments: args, input }: Json): Choice['calls'] {
  if (type === 'function_call') return [{ name, args: canonicalText(args ?? '') }];
  return type === 'custom_tool_call' ? [{ name, args: canonical({ input }) }] : [];
}

function countsOf(usage: Json): Counts | undefined {
  if (typeof usage?.input_tokens !== 'number') return undefined;
  const { input_tokens_details: input, output_tokens_details: output } = usage;
  return {
    input: usage.input_tokens,
    output: usage.output_tokens ?? 0,
    cached: input?.cached_tokens ?? 0,
    cacheWrite: input?.cache_write_tokens ?? 0,
    reasoning: output?.reasoning_tokens ?? 0,
  };
}

/** The response of the last event with the finished items: some servers leave them out of it, and seal their state anew. */
function join(text: string): Json {
  const items: Json[] = [];
  /** By item and part. */
  const streamed = new Map<string, string>();
  for (const { data } of eventsIn(text)) {
    if (data.trim() === '[DONE]') break;
    const event = read(data);
    const failure = event.error ?? (event.type === 'error' ? event : event.response?.error);
    if (failure) throw new Error(`error: ${JSON.stringify(failure)}`);
    const { type, output_index: at, content_index: part = 0, delta } = event;
    if (type === 'response.output_text.delta')
      streamed.set(`${at} ${part}`, (streamed.get(`${at} ${part}`) ?? '') + delta);
    if (type === 'response.output_item.done')
      items[at] = asStreamed(event.item, (index) => streamed.get(`${at} ${index}`));
    if (['response.completed', 'response.incomplete'].includes(event.type)) {
      const output = items.filter(Boolean);
      return output.length > 0 ? { ...event.response, output } : event.response;
    }
  }
  throw new Error('no last event');
}

/** The item; what was streamed counts where its end says something else. */
function asStreamed(item: Json, streamedAt: (part: number) => string | undefined): Json {
  if (item.type !== 'message') return item;
  const content = item.content.map((part: Json, index: number) => {
    const text = streamedAt(index);
    return text === undefined || part.text?.startsWith(text) ? part : { ...part, text };
  });
  return { ...item, content };
}

function split(body: Json): string {
  const events: Json[] = [{ type: 'response.created', response: { ...body, status: 'in_progress', output: [] } }];
  for (const [output_index, item] of (body.output ?? []).entries()) {
    const at = { item_id: item.id, output_index };
    events.push({ type: 'response.output_item.added', output_index, item: { ...item, ...emptied(item) } });
    if (item.type === 'message') {
      for (const [content_index, part] of partsOf([item]).entries())
        events.push(...deltasOf(part, { ...at, content_index }));
    }
    if (item.type === 'function_call')
      for (const delta of halves(item.arguments))
        events.push({ type: 'response.function_call_arguments.delta', ...at, delta });
    events.push({ type: 'response.output_item.done', output_index, item });
  }
  const status = body.status === 'incomplete' ? 'incomplete' : 'completed';
  events.push({ type: `response.${status}`, response: body });
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

function emptied({ type }: Json): Json {
  if (type === 'message') return { content: [] };
  if (type === 'function_call') return { arguments: '' };
  return type === 'reasoning' ? { summary: [], encrypted_content: undefined } : {};
}

function deltasOf(part: Json, at: Json): Json[] {
  const kind = part.type === 'refusal' ? 'refusal' : 'output_text';
  return halves(part.refusal ?? part.text).map((delta) => ({ type: `response.${kind}.delta`, ...at, delta }));
}

function halves(text: Json): string[] {
  if (typeof text !== 'string' || text === '') return [];
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== '');
}

export const responses: Reader = { read: readBody, join, split };
