/** Event reader: events of an upstream stream, within limits. */

import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json, read } from '../../core/json/json.ts';
import { checkEventLimits } from '../../core/json/response.ts';
import { parseFrame, type SseEvent } from '../../core/sse.ts';

/** Maximum number of lines in an event, above that of any real upstream. */
const MAX_EVENT_LINES = 10_000;
const LF = 10;
const CR = 13;

/** Throws `upstream_error` for an event with too many lines. */
export function readEvent(frame: Buffer): SseEvent | undefined {
  if (frame.length > MAX_EVENT_LINES && linesIn(frame) > MAX_EVENT_LINES) throw brokenEvent();
  const event = parseFrame(frame);
  if (event) checkEventLimits(event.data);
  return event;
}

function linesIn(frame: Buffer): number {
  let lines = 0;
  for (const byte of [LF, CR]) {
    for (let at = frame.indexOf(byte); at >= 0 && lines <= MAX_EVENT_LINES; at = frame.indexOf(byte, at + 1)) lines++;
  }
  return lines;
}

/** The JSON object in an event; throws `upstream_error` for anything else. */
export function readFrame(event: SseEvent): Json {
  let body: Json;
  try {
    body = read(event.data);
  } catch (cause) {
    throw brokenEvent(cause);
  }
  if (!isObject(body)) throw brokenEvent();
  return body;
}

function brokenEvent(cause?: unknown): GatewayError {
  return new GatewayError('upstream_error', 'The upstream sent a broken event.', { cause });
}
