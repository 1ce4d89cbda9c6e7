/** Prompt-cache marks: `cache_control` in the messages protocol. */

import type { CacheMark, ChatRequest } from '../../core/chat.ts';
import { isObject, type Json } from '../../core/json/json.ts';

const MAX_MARKS = 4;

export function decodeMark(control: Json): CacheMark | undefined {
  if (!isObject(control)) return undefined;
  return control.ttl === '1h' || control.ttl === '5m' ? { ttl: control.ttl } : {};
}

/** Converts a lifetime to the next supported one; five minutes are the default. */
export function encodeMark(mark: CacheMark | undefined): { cache_control: Json } | undefined {
  if (!mark) return undefined;
  const long = mark.ttl !== undefined && mark.ttl !== '5m';
  return { cache_control: { type: 'ephemeral', ...(long && { ttl: '1h' }) } };
}

/** A mark on the whole request stands for one on its last part that can carry it. */
export function markLast(request: ChatRequest, mark: CacheMark): void {
  for (const turn of request.turns.toReversed()) {
    for (const part of turn.parts.toReversed()) {
      if (part.type === 'reasoning' || part.type === 'refusal' || part.type === 'native') continue;
      part.cache ??= mark;
      return;
    }
  }
}

/** Keeps the last marks of a body, which cover the longest beginnings, in place. */
export function limitMarks(body: Json): void {
  const blocks = body.messages.flatMap((message: Json) => message.content);
  const content = blocks.flatMap((block: Json) => (Array.isArray(block.content) ? [...block.content, block] : [block]));
  const holders = [...(body.tools ?? []), ...(body.system ?? []), ...content];
  const marked = holders.filter((holder: Json) => holder.cache_control);
  for (const holder of marked.slice(0, -MAX_MARKS)) delete holder.cache_control;
}
