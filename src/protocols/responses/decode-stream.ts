/** Stream decoder: the frames of an upstream's stream to hub events. */

import type { ChatEvent } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json, read } from '../../core/json/json.ts';
import type { Target } from '../../core/operation.ts';
import type { SseEvent } from '../../core/sse.ts';
import type { StreamDecoder } from '../../core/stream-codec.ts';
import { createAnswerDecoder } from './decode-stream-answer.ts';

/** Events that repeat the content of the first one. */
const REPEATED = ['response.queued', 'response.in_progress'];

export function createStreamDecoder(target: Target): StreamDecoder {
  const answer = createAnswerDecoder(target);
  let ended = false;

  /** After the last event and after an error nothing follows. */
  function guarded(work: () => ChatEvent[]): ChatEvent[] {
    if (ended) return [];
    try {
      const events = work();
      ended = answer.ended();
      return events;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      ended = true;
      return [{ type: 'error', error }];
    }
  }

  return {
    decode: (event) => guarded(() => (isRead(event) ? answer.event(parse(event)) : [])),
    end: () =>
      guarded(() => {
        throw new GatewayError('upstream_error', 'The upstream closed its answer before the end.');
      }),
    usage: answer.usage,
  };
}

/** OpenRouter marks the end of its streams as chat completions does. */
function isRead({ event = '', data }: SseEvent): boolean {
  return !REPEATED.includes(event) && data !== '' && data.trim() !== '[DONE]';
}

function parse({ event, data }: SseEvent): Json {
  let body: Json;
  try {
    body = read(data);
  } catch (cause) {
    throw new GatewayError('upstream_error', 'The upstream sent an event that is not valid JSON.', { cause });
  }
  if (!isObject(body)) return {};
  if (event !== undefined) body.type ??= event;
  return body;
}
