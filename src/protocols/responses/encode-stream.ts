/** Stream encoder: converts hub events to the events of a Responses stream. */

import type { ChatEvent, Finish, Usage } from '../../core/chat.ts';
import type { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import type { EncoderOptions } from '../../core/operation.ts';
import type { StreamEncoder } from '../../core/stream-codec.ts';
import { createItemWriter, type ItemWriter } from './encode-stream-items.ts';
import { encodeErrorMember } from './errors.ts';
import { responseId } from './item-id.ts';
import { echoIn, encodeResponseObject, type OwnMembers } from './response-object.ts';

export const KEEP_ALIVE = ': ping\n\n';

/** The answer of a message as it grows. */
export interface AnswerWriter {
  write(event: ChatEvent): void;
  /** The last event: the answer with an error. */
  fail(error: GatewayError): void;
  /** The response object after `message-end`. */
  response(): Json;
}

/** `emit` gets every event of the stream, by its type without `response.`. */
export function createAnswerWriter(options: EncoderOptions, emit: (type: string, members: Json) => void): AnswerWriter {
  const echo = echoIn(options);
  const { hidden } = options;
  let items: ItemWriter = createItemWriter(emit, '', { ...echo, hidden });
  let head = { id: responseId(''), created: options.created };
  let finish: Finish = { reason: 'other' };
  let usage: Usage | undefined;
  let started = false;
  let response: Json;

  function responseWith(own: Omit<OwnMembers, 'id' | 'created'>): Json {
    response = encodeResponseObject({ ...head, ...own }, options);
    return response;
  }

  function start({ id, created }: { id: string; created?: number | undefined }): void {
    started = true;
    head = { id: responseId(id), created: created ?? options.created };
    hidden?.splice(0);
    items = createItemWriter(emit, id, { ...echo, hidden });
    const begun = responseWith({ status: 'in_progress', output: [] });
    emit('created', { response: begun });
    emit('in_progress', { response: begun });
  }

  function end(): void {
    if (!started) start({ id: '' });
    const incompleteReason = INCOMPLETE[finish.reason];
    const status = incompleteReason === undefined ? 'completed' : 'incomplete';
    const completedAt = status === 'completed' && { completedAt: Math.max(head.created, now()) };
    const reason = incompleteReason !== undefined && { incompleteReason };
    emit(status, { response: responseWith({ status, output: items.output, usage, ...completedAt, ...reason }) });
  }

  function now(): number {
    return options.now?.() ?? options.created;
  }

  return {
    write(event) {
      switch (event.type) {
        case 'message-start':
          usage = event.usage;
          start(event);
          break;
        case 'part-start':
          if (event.candidate === 0) items.start(event.index, event.part);
          break;
        case 'part-delta':
          items.grow(event);
          break;
        case 'part-end':
          items.end(event.index);
          break;
        case 'candidate-end':
          if (event.candidate !== 0) break;
          finish = event.finish;
          items.finish(finish);
          break;
        case 'message-end':
          usage = event.usage ?? usage;
          end();
          break;
        case 'ping':
          break;
        case 'error':
          throw event.error;
      }
    },
    fail(error) {
      if (!started) start({ id: '' });
      const failed = { status: 'failed', output: items.output, error: encodeErrorMember(error) } as const;
      emit('failed', { response: responseWith(failed) });
    },
    response: () => response,
  };
}

/** Reasons why an answer is not complete. */
const INCOMPLETE: Partial<Record<Finish['reason'], string>> = {
  length: 'max_output_tokens',
  'context-full': 'max_output_tokens',
  paused: 'max_output_tokens',
  continuation: 'max_output_tokens',
  filtered: 'content_filter',
  blocked: 'content_filter',
};

export function createStreamEncoder(options: EncoderOptions): StreamEncoder {
  let text = '';
  let sequence = 0;
  const answer = createAnswerWriter(options, (type, members) => {
    const event = { type: `response.${type}`, sequence_number: sequence++, ...members };
    text += `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  });

  function written(): string {
    const taken = text;
    text = '';
    return taken;
  }

  return {
    encode(event) {
      if (event.type === 'ping') return KEEP_ALIVE;
      answer.write(event);
      return written();
    },
    end: () => '',
    fail(error) {
      answer.fail(error);
      return written();
    },
  };
}
