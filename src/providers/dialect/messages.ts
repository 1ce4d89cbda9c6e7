/** Steps on the messages of a chat completions request. */

import { isObject, type Json } from '../../core/json/json.ts';
import type { Adaptation } from '../../core/provider.ts';
import { reasons } from './fields.ts';
import { type DialectStep, markDropped, put, remove } from './step.ts';

export function messagesOf(body: Json): Json[] {
  return Array.isArray(body.messages) ? body.messages.filter(isObject) : [];
}

export function partsOf(message: Json): Json[] {
  return Array.isArray(message.content) ? message.content.filter(isObject) : [];
}

export function callsOf(message: Json): Json[] {
  return Array.isArray(message.tool_calls) ? message.tool_calls.filter(isObject) : [];
}

export const developerAsSystem: DialectStep = (body, _rules, done) => {
  for (const message of messagesOf(body)) if (message.role === 'developer') put(message, 'role', 'system', done);
};

/** One system turn, and it stands first: chat templates of open models refuse any other. */
export const mergeSystemTurns: DialectStep = (body, _rules, done) => {
  const all = messagesOf(body);
  const system = all.filter(isSystem);
  if (system.length === 0 || (system.length === 1 && all[0] === system[0])) return;
  const merged = { role: 'system', content: joined(system.map((message) => message.content)) };
  body.messages = [merged, ...all.filter((message) => !isSystem(message))];
  done.changed = true;
};

/** User and assistant take turns; neighbours of one role become one turn. */
export const alternatingTurns: DialectStep = (body, _rules, done) => {
  const all = messagesOf(body);
  const turns: Json[] = [];
  for (const message of all) {
    const last = turns.at(-1);
    if (last && joins(last, message))
      turns[turns.length - 1] = { ...last, content: joined([last.content, message.content]) };
    else turns.push(message);
  }
  if (turns.length === all.length) return;
  body.messages = turns;
  done.changed = true;
};

function joins(last: Json, next: Json): boolean {
  return last.role === next.role && next.role !== 'tool' && !last.tool_calls && !next.tool_calls;
}

/** Adds an instruction to the system turn at the start, or makes one. */
export function leadWithSystem(body: Json, text: string): void {
  const first = messagesOf(body)[0];
  if (first && isSystem(first)) first.content = joined([first.content, text]);
  else body.messages = [{ role: 'system', content: text }, ...messagesOf(body)];
}

/** What answers carry and clients send back with the history; no provider misses it, and strict ones refuse it. */
const ANSWER_FIELDS = [
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'annotations',
  'audio',
  'images',
  'parsed',
];

/** Takes the fields of answers out of the history, except those in `kept`; a refusal becomes text. */
export function plainHistory(...kept: string[]): DialectStep {
  const unwanted = ANSWER_FIELDS.filter((field) => !kept.includes(field));
  return (body, _rules, done) => {
    for (const message of messagesOf(body)) {
      if (message.refusal && !message.content) put(message, 'content', message.refusal, done);
      for (const field of ['refusal', ...unwanted]) remove(message, field, done);
      if (message.function_call === null) remove(message, 'function_call', done);
      if (message.tool_calls === null) remove(message, 'tool_calls', done);
      for (const call of callsOf(message)) remove(call, 'extra_content', done);
    }
  };
}

/** Names of speakers, for providers that answer 400 to them. */
export const withoutNames: DialectStep = (body, _rules, done) => {
  for (const message of messagesOf(body)) {
    if (message.name === undefined) continue;
    if (message.name !== null && message.role !== 'tool') markDropped('messages.name', done);
    remove(message, 'name', done);
  }
};

const CACHE_MARKS = ['cache_control', 'prompt_cache_breakpoint'];

/** Cache breakpoints on messages, parts and tools. */
export const withoutCacheMarks: DialectStep = (body, _rules, done) => {
  const tools = Array.isArray(body.tools) ? body.tools.filter(isObject) : [];
  for (const holder of [...messagesOf(body).flatMap((message) => [message, ...partsOf(message)]), ...tools]) {
    for (const mark of CACHE_MARKS) dropMark(holder, mark, done);
  }
};

function dropMark(holder: Json, mark: string, done: Adaptation): void {
  if (holder[mark] === undefined) return;
  if (holder[mark] !== null) markDropped(mark, done);
  remove(holder, mark, done);
}

export const withoutImageDetail: DialectStep = (body, _rules, done) => {
  for (const part of messagesOf(body).flatMap(partsOf))
    if (isObject(part.image_url)) remove(part.image_url, 'detail', done);
};

/** Stands for reasoning nobody kept: servers that require `reasoning_content` refuse an empty one. */
const NO_REASONING = ' ';

/** Reasoning of earlier turns as `reasoning_content`, and on every assistant turn where the model requires it. */
export const reasoningContent: DialectStep = (body, rules, done) => {
  const thinks = reasons(body, rules);
  for (const message of messagesOf(body)) {
    if (message.role !== 'assistant') continue;
    if (message.reasoning && !message.reasoning_content) put(message, 'reasoning_content', message.reasoning, done);
    remove(message, 'reasoning', done);
    remove(message, 'reasoning_details', done);
    if (rules.reasoningHistory === 'forbidden') remove(message, 'reasoning_content', done);
    else if (rules.reasoningHistory === 'required' && thinks && !message.reasoning_content) {
      put(message, 'reasoning_content', NO_REASONING, done);
    }
  }
};

/** A last assistant turn that is to be continued carries a flag. */
export function markedPrefill(flag: string): DialectStep {
  return (body, _rules, done) => {
    const last = messagesOf(body).at(-1);
    if (last?.role === 'assistant' && !last.tool_calls?.length) put(last, flag, true, done);
  };
}

function isSystem(message: Json): boolean {
  return message.role === 'system' || message.role === 'developer';
}

/** Contents in a row: text as long as all are text, else parts. */
function joined(contents: Json[]): Json {
  const present = contents.filter((content) => content !== null && content !== undefined && content !== '');
  if (present.every((content) => typeof content === 'string')) return present.join('\n\n');
  return present.flatMap((content) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content));
}
