/** Chat completions, as their clients read them. */

import { type Json, read } from '../../../src/core/json/json.ts';
import {
  type Answer,
  BROKEN,
  type Choice,
  type Counts,
  canonical,
  type End,
  emptyChoice,
  eventsIn,
  type Reader,
  unique,
} from '../answer.ts';

export const ENDS: Record<string, End> = {
  stop: 'stop',
  eos: 'stop',
  length: 'length',
  model_length: 'context-full',
  tool_calls: 'calls',
  function_call: 'calls',
  content_filter: 'filtered',
};

function readBody(body: Json): Answer {
  const choices: Json[] = [...(body.choices ?? [])].sort((one, other) => (one.index ?? 0) - (other.index ?? 0));
  const listed: Json[] = [...(body.citations ?? []), ...(body.search_results ?? [])];
  return {
    choices: choices.map((choice, index) => readChoice(choice, index === 0 ? listed : [])),
    counts: countsOf(body),
  };
}

function readChoice(choice: Json, listed: Json[]): Choice {
  const message = choice.message ?? choice.delta ?? {};
  const result = emptyChoice();
  const parts: Json[] = Array.isArray(message.content) ? message.content : [];
  const { content } = message;
  result.text =
    typeof content === 'string'
      ? content
      : parts.length > 0 || !content
        ? textOf(parts, 'text')
        : JSON.stringify(content);
  result.refusal = message.refusal ?? '';
  result.reasoning = reasoningOf(message) || parts.map((part) => textOf(part.thinking ?? [], 'text')).join('');
  const calls: Json[] = message.tool_calls ?? [];
  const legacy = message.function_call?.name ? [{ function: message.function_call }] : [];
  result.calls = [...calls, ...legacy].map(readCall);
  result.citations = citationsOf(message, listed);
  result.media = mediaOf(message);
  result.end = ENDS[choice.finish_reason || 'stop'] ?? 'abnormal';
  const matched = [choice.stop_reason, choice.matched_stop].find((value) => typeof value === 'string');
  if (result.end === 'stop' && matched) Object.assign(result, { end: 'stop-sequence', stopSequence: matched });
  const mayChange = ['stop', 'abnormal', 'stop-sequence'].includes(result.end);
  if (result.calls.length > 0 && mayChange) result.end = 'calls';
  else if (result.refusal !== '' && (mayChange || result.end === 'filtered')) result.end = 'refused';
  return result;
}

function textOf(parts: Json[], type: string): string {
  return parts.map((part) => (part.type === type ? (part.text ?? '') : '')).join('');
}

function reasoningOf(message: Json): string {
  const plain = message.reasoning_content || message.reasoning;
  if (typeof plain === 'string' && plain !== '') return plain;
  const details: Json[] = message.reasoning_details ?? [];
  return details.map((detail) => detail.text ?? detail.summary ?? '').join('');
}

function readCall(call: Json): Choice['calls'][number] {
  if (call.custom?.name && !call.function)
    return { name: call.custom.name, args: canonical({ input: call.custom.input }) };
  const { name, arguments: args } = call.function;
  return { name, args: typeof args === 'string' ? canonicalText(args) : canonical(args ?? {}) };
}

export function canonicalText(text: string): string {
  if (text.trim() === '') return '{}';
  try {
    return canonical(read(text));
  } catch {
    return `${BROKEN} ${text}`;
  }
}

function citationsOf(message: Json, listed: Json[]): string[] {
  const annotations: Json[] = message.annotations ?? [];
  const own = annotations.map((annotation) => annotation.url_citation?.url);
  const quoted = (message.citations ?? []).map((citation: Json) => citation.cited_text && `“${citation.cited_text}”`);
  const beside = listed.map((entry) => entry?.url ?? entry);
  return unique([...own, ...quoted, ...beside].filter((source) => typeof source === 'string' && source !== ''));
}

function mediaOf(message: Json): string[] {
  const images: Json[] = message.images ?? [];
  const sound = message.audio?.data || message.audio?.transcript ? [`audio ${message.audio.data?.length ?? 0}`] : [];
  return [...images.map((image) => `image ${image.image_url?.url?.split(',').at(-1)?.length ?? 0}`), ...sound];
}

function countsOf(body: Json): Counts | undefined {
  const usage = body.usage ?? body.x_groq?.usage;
  if (typeof usage?.prompt_tokens !== 'number') return undefined;
  const prompt = usage.prompt_tokens_details ?? {};
  const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? usage.reasoning_tokens ?? 0;
  const audio = prompt.audio_tokens ?? 0;
  const output = usage.completion_tokens ?? 0;
  const told = Math.max(0, (usage.total_tokens ?? 0) - usage.prompt_tokens - output);
  const outside = told === 0 && reasoning > output ? reasoning : told;
  const isAudio = outside > 0 && outside === audio;
  const cached =
    prompt.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens ?? usage.cache_read_input_tokens ?? 0;
  const apart = cached > usage.prompt_tokens ? cached : 0;
  return {
    input: usage.prompt_tokens + apart + (isAudio ? outside : 0),
    output: output + (isAudio ? 0 : outside),
    cached,
    cacheWrite: prompt.cache_write_tokens ?? usage.cache_creation_input_tokens ?? 0,
    reasoning: reasoning || (isAudio ? 0 : outside),
  };
}

function join(text: string): Json {
  const body: Json = { id: '', object: 'chat.completion', created: 0, model: '', choices: [] };
  let done = false;
  for (const { data } of eventsIn(text)) {
    if (done) throw new Error('something follows [DONE]');
    done = data.trim() === '[DONE]';
    if (done) continue;
    const chunk = read(data);
    if (chunk.error) throw new Error(`error: ${JSON.stringify(chunk.error)}`);
    const { choices = [], ...rest } = chunk;
    for (const [name, value] of Object.entries(rest)) if (value !== null) body[name] = value;
    for (const [position, choice] of choices.entries()) joinChoice(body, choice, choice.index ?? position);
  }
  body.object = 'chat.completion';
  if (body.choices.length === 0) throw new Error('no choice');
  const isUnfinished = body.choices.some((choice: Json) => choice && !choice.finish_reason);
  if (isUnfinished && !done) throw new Error('no finish_reason');
  return body;
}

function joinChoice(body: Json, { delta = {}, message, ...rest }: Json, index: number): void {
  body.choices[index] ??= { index, message: { role: 'assistant', content: null }, finish_reason: null };
  const choice = body.choices[index];
  for (const [name, value] of Object.entries(rest)) if (value !== null && name !== 'logprobs') choice[name] = value;
  const more = Object.keys(delta).length > 0 ? delta : (message ?? {});
  for (const [name, value] of Object.entries(more)) joinMember(choice.message, name, value);
}

function joinMember(message: Json, name: string, value: Json): void {
  if (value === null || name === 'role') return;
  if (name === 'tool_calls') for (const call of value) joinCall(message, call);
  else if (name === 'function_call' || name === 'audio') {
    message[name] ??= {};
    for (const [inner, more] of Object.entries(value)) joinMember(message[name], inner, more);
  } else if (Array.isArray(value)) {
    const before = message[name] ?? [];
    message[name] = [...(typeof before === 'string' ? [{ type: 'text', text: before }] : before), ...value];
  } else if (typeof value === 'string' && !['id', 'name'].includes(name)) {
    const before = message[name] ?? '';
    message[name] = Array.isArray(before) ? [...before, { type: 'text', text: value }] : before + value;
  } else message[name] = value;
}

/** Some servers repeat an index for another call, and some send none. */
function joinCall(message: Json, call: Json): void {
  message.tool_calls ??= [];
  const calls: Json[] = message.tool_calls;
  const atIndex = calls.findLast((known) => known.index === (call.index ?? known.index));
  const isNew = !atIndex || (call.id && atIndex.id && call.id !== atIndex.id) || (call.index === undefined && call.id);
  if (isNew) {
    calls.push({ ...call, index: call.index ?? calls.length, type: call.type ?? 'function' });
    return;
  }
  for (const kind of ['function', 'custom']) {
    if (!call[kind]) continue;
    atIndex[kind] ??= {};
    for (const [name, value] of Object.entries(call[kind])) {
      if (name === 'name') atIndex[kind].name ||= value;
      else if (typeof value === 'string') atIndex[kind][name] = (atIndex[kind][name] ?? '') + value;
    }
  }
  atIndex.id ||= call.id;
}

function split(body: Json): string {
  const { choices = [], usage, ...rest } = body;
  const head = { ...rest, object: 'chat.completion.chunk' };
  const frame = (value: Json) => `data: ${JSON.stringify(value)}\n\n`;
  const deltas = choices.map(({ message, logprobs, finish_reason, index, ...more }: Json) => {
    const calls = message?.tool_calls?.map((call: Json, position: number) => ({ index: position, ...call }));
    const delta = { ...message, ...(calls && { tool_calls: calls }) };
    return (
      frame({ ...head, choices: [{ index, delta, logprobs, finish_reason: null }] }) +
      frame({ ...head, choices: [{ index, delta: {}, finish_reason, ...more }] })
    );
  });
  return `${deltas.join('')}${usage ? frame({ ...head, choices: [], usage }) : ''}data: [DONE]\n\n`;
}

export const chat: Reader = { read: readBody, join, split };
