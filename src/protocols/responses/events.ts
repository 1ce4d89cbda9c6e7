/** Events of a Responses stream that begin and end it. The event line names the type; some servers send only the data. */

import { type Json, parseObject } from '../../core/json/json.ts';
import type { SseEvent } from '../../core/sse.ts';

const PREAMBLE = ['response.created', 'response.queued', 'response.in_progress'];
/** A failed response is an error. */
export const LAST: readonly string[] = ['response.completed', 'response.incomplete'];

/** Events that end a response. */
export const ENDS: readonly string[] = [...LAST, 'response.failed'];

/** Events that hold the response. */
export const LIFECYCLE: readonly string[] = [...PREAMBLE, ...ENDS];

const PREAMBLE_START = /^(?:event: ?|data: ?\{\s*"type"\s*:\s*")response\.(?:created|queued|in_progress)\b/;
const FIRST_TYPE = /^\{\s*"type"\s*:\s*"([^"\\]*)"/;
const LAST_TYPE = /"type"\s*:\s*"([^"\\]*)"\s*\}\s*$/;

/** A preamble repeats the whole request. */
export function isUnreadPreamble(start: string): boolean {
  return PREAMBLE_START.test(start);
}

export function isPreamble(event: SseEvent): boolean {
  return PREAMBLE.includes(typeOf(event));
}

export function isPing({ data }: SseEvent): boolean {
  return FIRST_TYPE.exec(data)?.[1] === 'keepalive';
}

export function isEnd(event: SseEvent): boolean {
  return LAST.includes(typeOf(event));
}

/** The type of an event; empty if it has none. */
export function typeOf({ event, data }: SseEvent): string {
  if (event?.startsWith('response.')) return event;
  const named = FIRST_TYPE.exec(data)?.[1] ?? LAST_TYPE.exec(data)?.[1];
  if (named !== undefined) return named;
  const body: Json = data.includes('"response.') ? parseObject(data) : undefined;
  return typeof body?.type === 'string' ? body.type : '';
}
