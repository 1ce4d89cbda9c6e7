/** Dialect steps for the messages of a chat completions request. */

import { isObject, type Json } from '../../core/json/json.ts';
import type { Adaptation } from '../../core/provider.ts';
import { reasons } from './fields.ts';
import { type DialectStep, markDropped, removeField, setField } from './step.ts';

export function messagesOf(body: Json): Json[] {
  return Array.isArray(body.messages) ? body.messages.filter(isObject) : [];
}

export function partsOf(message: Json): Json[] {
  return Array.isArray(message.content) ? message.content.filter(isObject) : [];
}

function callsOf(message: Json): Json[] {
  return Array.isArray(message.tool_calls) ? message.tool_calls.filter(isObject) : [];
}

export const developerAsSystem: DialectStep = (body, _rules, result) => {
  for (const message of messagesOf(body)) if (message.role === 'developer') setField(message, 'role', 'system', result);
};

/** Merges system turns into one at the start: chat templates of open models refuse others. */
export const mergeSystemTurns: DialectStep = (body, _rules, result) => {
  const all = messagesOf(body);
  const system = all.filter(isSystem);
  if (system.length === 0 || (system.length === 1 && all[0] === system[0])) return;
  const merged = { role: 'system', content: joined(system.map((message) => message.content)) };
  body.messages = [merged, ...all.filter((message) => !isSystem(message))];
  result.changed = true;
};

/** Merges consecutive turns of the same role, so that user and assistant alternate. */
export const alternatingTurns: DialectStep = (body, _rules, result) => {
  const all = messagesOf(body);
  const runs: Json[][] = [];
  for (const message of all) {
    const run = runs.at(-1);
    if (run && canJoin(run[0], message)) run.push(message);
    else runs.push([message]);
  }
  if (runs.length === all.length) return;
  body.messages = runs.map(turnOf);
  result.changed = true;
};

function canJoin(first: Json, next: Json): boolean {
  return first.role === next.role && next.role !== 'tool' && !first.tool_calls && !next.tool_calls;
}

/** One turn of a run of messages; texts before the first part are one text. */
function turnOf(run: Json[]): Json {
  const [first, ...others] = run;
  if (others.length === 0) return first;
  const contents = presentOf(run.map(({ content }) => content));
  const start = contents.findIndex((content) => typeof content !== 'string');
  const parts = start < 0 ? [] : contents.slice(start);
  const text = (start < 0 ? contents : contents.slice(0, start)).join('\n\n');
  return { ...first, content: joined([text, ...parts]) };
}

/** Appends an instruction to the first system turn, or adds one. */
export function prependToSystem(body: Json, text: string): void {
  const first = messagesOf(body)[0];
  if (first && isSystem(first)) first.content = joined([first.content, text]);
  else body.messages = [{ role: 'system', content: text }, ...messagesOf(body)];
}

/** Response fields that clients send back in the history; strict providers refuse them. */
const RESPONSE_FIELDS = [
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'annotations',
  'audio',
  'images',
  'parsed',
];

/** Removes response fields from the history, except those in `kept`; a refusal becomes text. */
export function plainHistory(...kept: string[]): DialectStep {
  const unwanted = RESPONSE_FIELDS.filter((field) => !kept.includes(field));
  return (body, _rules, result) => {
    for (const message of messagesOf(body)) {
      if (message.refusal && !message.content) setField(message, 'content', message.refusal, result);
      for (const field of ['refusal', ...unwanted]) removeField(message, field, result);
      if (message.function_call === null) removeField(message, 'function_call', result);
      if (message.tool_calls === null) removeField(message, 'tool_calls', result);
      for (const call of callsOf(message)) removeField(call, 'extra_content', result);
    }
  };
}

/** Removes speaker names, for providers that refuse them with 400. */
export const withoutNames: DialectStep = (body, _rules, result) => {
  for (const message of messagesOf(body)) {
    if (message.name === undefined) continue;
    if (message.name !== null && message.role !== 'tool') markDropped('messages.name', result);
    removeField(message, 'name', result);
  }
};

const CACHE_MARKS = ['cache_control', 'prompt_cache_breakpoint'];

/** Removes cache breakpoints from messages, parts and tools. */
export const withoutCacheMarks: DialectStep = (body, _rules, result) => {
  const tools = Array.isArray(body.tools) ? body.tools.filter(isObject) : [];
  for (const holder of [...messagesOf(body).flatMap((message) => [message, ...partsOf(message)]), ...tools]) {
    for (const mark of CACHE_MARKS) dropCacheMark(holder, mark, result);
  }
};

function dropCacheMark(holder: Json, mark: string, result: Adaptation): void {
  if (holder[mark] === undefined) return;
  if (holder[mark] !== null) markDropped(mark, result);
  removeField(holder, mark, result);
}

export const withoutImageDetail: DialectStep = (body, _rules, result) => {
  for (const { image_url: image } of messagesOf(body).flatMap(partsOf)) {
    if (!isObject(image)) continue;
    if ((image.detail ?? 'auto') !== 'auto') markDropped('messages.content.image_url.detail', result);
    removeField(image, 'detail', result);
  }
};

/** Replaces missing reasoning: servers that require `reasoning_content` refuse an empty one. */
const REASONING_PLACEHOLDER = ' ';

/** Sends earlier reasoning as `reasoning_content`, on every assistant turn if the model requires it. */
export const reasoningContent: DialectStep = (body, rules, result) => {
  const thinks = reasons(body, rules);
  for (const message of messagesOf(body)) {
    if (message.role !== 'assistant') continue;
    if (message.reasoning && !message.reasoning_content)
      setField(message, 'reasoning_content', message.reasoning, result);
    removeField(message, 'reasoning', result);
    removeField(message, 'reasoning_details', result);
    if (rules.reasoningHistory === 'forbidden') removeField(message, 'reasoning_content', result);
    else if (rules.reasoningHistory === 'required' && thinks && !message.reasoning_content) {
      setField(message, 'reasoning_content', REASONING_PLACEHOLDER, result);
    }
  }
};

/** Replaces the ids of calls, in the calls and in their results alike. */
export function callIds(shorten: (id: string) => string): DialectStep {
  return (body, _rules, result) => {
    for (const message of messagesOf(body)) {
      for (const holder of callsOf(message))
        if (typeof holder.id === 'string') setField(holder, 'id', shorten(holder.id), result);
      const { tool_call_id: id } = message;
      if (typeof id === 'string') setField(message, 'tool_call_id', shorten(id), result);
    }
  };
}

/** Flags a final assistant turn as a prefill. */
export function markedPrefill(flag: string): DialectStep {
  return (body, _rules, result) => {
    const last = messagesOf(body).at(-1);
    if (last?.role === 'assistant' && !last.tool_calls?.length) setField(last, flag, true, result);
  };
}

function isSystem(message: Json): boolean {
  return message.role === 'system' || message.role === 'developer';
}

/** Joined contents: text if all are text, else parts. */
function joined(contents: Json[]): Json {
  const present = presentOf(contents);
  if (present.every((content) => typeof content === 'string')) return present.join('\n\n');
  return present.flatMap((content) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content));
}

function presentOf(contents: Json[]): Json[] {
  return contents.filter((content) => content !== null && content !== undefined && content !== '');
}
