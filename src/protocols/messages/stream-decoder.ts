/** Stream decoder of the messages protocol. */

import type { ChatEvent, Finish, Usage } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json, readObject } from '../../core/json/json.ts';
import type { Target } from '../../core/operation.ts';
import type { SseEvent } from '../../core/sse.ts';
import type { StreamDecoder } from '../../core/stream-codec.ts';
import { decodeAnswerBlock, decodeNative, decodeState } from './block-decoder.ts';
import { decodeCitation } from './citations.ts';
import { errorIn } from './errors.ts';
import { decodeFinish } from './finish.ts';
import { event as eventShape } from './response-shape.ts';
import { mergeUsage, usageOf } from './usage.ts';

/** The open block; `native` blocks are buffered until they end. */
interface OpenBlock {
  part: number;
  /** The upstream's index of it. */
  index: unknown;
  type: string;
  native?: Json;
  /** JSON fragments of a native block's input. */
  input: string;
  /** Arguments in the start of a call, used if no fragment follows. */
  given: string;
}

export function createStreamDecoder(target: Target): StreamDecoder {
  let usage: Usage | undefined;
  /** Output tokens were reported behind the start, which may count a few before there are any. */
  let isCounted = false;
  let finish: Finish | undefined;
  let open: OpenBlock | undefined;
  /** Indexes of calls that another block ended, or that ended without arguments. */
  const broken = new Set<unknown>();
  let parts = 0;
  let started = false;
  let ended = false;

  function decode({ data }: SseEvent): ChatEvent[] {
    if (ended || data.trim() === '[DONE]') return [];
    const frame = eventShape(readObject(data));
    if (!frame) return fail(new GatewayError('upstream_error', 'The upstream sent an event that is not valid JSON.'));
    switch (frame.type) {
      case 'message_start':
        usage = mergeUsage(usage, usageOf(frame));
        return begin(frame);
      case 'content_block_start':
        return [...begin(frame), ...breakOff(), ...start(frame.content_block, frame.index)];
      case 'content_block_delta':
        return isObject(frame.delta) ? [...begin(frame), ...grow(frame.delta, frame.index)] : begin(frame);
      case 'content_block_stop':
        return isOther(frame.index) ? [] : close();
      case 'message_delta':
        count(usageOf(frame));
        finish = decodeFinish(frame.delta) ?? finish;
        return close();
      case 'message_stop':
        return [...begin(frame), ...finished()];
      case 'ping':
        return [{ type: 'ping' }];
      default: {
        const error = errorIn(frame);
        return error ? fail(error) : [];
      }
    }
  }

  /** Whether a stop is of another block than the open one, which goes on. */
  function isOther(number: unknown): boolean {
    return typeof number === 'number' && open?.index !== number;
  }

  function count(later: Partial<Usage> | undefined): void {
    usage = mergeUsage(usage, later);
    isCounted ||= later?.output !== undefined;
  }

  /** Once, and before anything else, wherever the upstream says it. */
  function begin({ message }: Json): ChatEvent[] {
    if (started) return [];
    started = true;
    return [{ type: 'message-start', id: message?.id ?? '', model: message?.model ?? target.model, usage }];
  }

  function start(block: Json, number: unknown): ChatEvent[] {
    broken.delete(number);
    if (!isObject(block)) return [];
    const part = decodeAnswerBlock(block, target.origin);
    open = { part: parts, index: number, type: part.type, input: '', given: '' };
    if (part.type === 'native') {
      open.native = block;
      return [];
    }
    if (part.type === 'call') {
      open.given = part.args === '{}' ? '' : part.args;
      part.args = '';
    }
    const index = parts++;
    if (part.type !== 'text') return [{ type: 'part-start', index, candidate: 0, part }];
    const { citations = [], ...text } = part;
    const cited = citations.map((citation): ChatEvent => ({ type: 'part-delta', index, citation }));
    return [{ type: 'part-start', index, candidate: 0, part: text }, ...cited];
  }

  function grow(delta: Json, number: unknown): ChatEvent[] {
    switch (delta.type) {
      case 'text_delta':
        return say('text', delta.text, number);
      case 'thinking_delta':
        return say('reasoning', delta.thinking, number);
      case 'input_json_delta':
        return growInput(delta.partial_json, number);
      case 'signature_delta': {
        const opaque = decodeState('signature', delta.signature, target.origin);
        return opaque && open?.type === 'reasoning' ? [{ type: 'part-delta', index: open.part, opaque }] : [];
      }
      case 'citations_delta': {
        const citation = decodeCitation(delta.citation);
        return citation && open?.type === 'text' ? [{ type: 'part-delta', index: open.part, citation }] : [];
      }
      default:
        return [];
    }
  }

  /** Words of a kind; they begin a part where none of that kind is open. */
  function say(type: 'text' | 'reasoning', text: unknown, number: unknown): ChatEvent[] {
    if (typeof text !== 'string' || text === '') return [];
    if (open?.native && open.index === number) return [];
    if (open?.type === type) return [{ type: 'part-delta', index: open.part, text }];
    const closing = breakOff();
    const index = parts++;
    open = { part: index, index: number, type, input: '', given: '' };
    return [...closing, { type: 'part-start', index, candidate: 0, part: { type, text } }];
  }

  function growInput(json: string | undefined, number: unknown): ChatEvent[] {
    if (!json) return [];
    if (broken.has(number)) return fail(mixedCalls());
    if (!open || (open.type !== 'call' && !open.native)) return [];
    open.input += json;
    return open.native ? [] : [{ type: 'part-delta', index: open.part, text: json }];
  }

  /** Ends the open block for another one; the rest of a call can no longer be decoded. */
  function breakOff(): ChatEvent[] {
    if (open?.type === 'call') broken.add(open.index);
    return close();
  }

  function close(): ChatEvent[] {
    if (!open) return [];
    const { part: index, type, native, input, given } = open;
    if (type === 'call' && input === '' && given === '') broken.add(open.index);
    open = undefined;
    if (native) {
      const value = input === '' ? native : { ...native, input: readObject(input) ?? native.input };
      parts++;
      const part = decodeNative(value);
      return [
        { type: 'part-start', index, candidate: 0, part },
        { type: 'part-end', index },
      ];
    }
    return [...(input === '' ? textDelta(index, given) : []), { type: 'part-end', index }];
  }

  function finished(): ChatEvent[] {
    if (parts === 0 && !open && !finish) {
      return fail(new GatewayError('upstream_error', 'The upstream answered with an empty stream.'));
    }
    const events = close();
    ended = true;
    events.push({ type: 'candidate-end', candidate: 0, finish: finish ?? { reason: 'other' } });
    events.push({ type: 'message-end', usage: isCounted || !usage ? usage : { ...usage, estimated: true } });
    return events;
  }

  function fail(error: GatewayError): ChatEvent[] {
    ended = true;
    return [{ type: 'error', error }];
  }

  return {
    decode,
    again: (text) => (open?.type === 'call' ? growInput(text, open.index) : open ? textDelta(open.part, text) : []),
    end: () =>
      ended ? [] : fail(new GatewayError('upstream_error', 'The upstream closed its response before the end.')),
    usage: () => usage,
  };
}

function mixedCalls(): GatewayError {
  return new GatewayError('upstream_error', 'The upstream mixed the arguments of two tool calls.');
}

function textDelta(index: number, text: unknown): ChatEvent[] {
  return typeof text === 'string' && text !== '' ? [{ type: 'part-delta', index, text }] : [];
}
