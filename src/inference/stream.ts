/** Streams on their way to the client: a relay of frames, or a translation of events. Fed bytes, both give what to write. */

import type { ChatResponse, Usage } from '../core/chat.ts';
import { GatewayError } from '../core/errors.ts';
import { unfold } from '../core/fold.ts';
import { type Json, read } from '../core/json.ts';
import type { EncoderOptions, Protocol } from '../core/protocol.ts';
import { createFramer, parseFrame, type SseEvent } from '../core/sse.ts';
import { nameModel } from './answer.ts';
import type { Plan } from './plan.ts';

export type Output = Buffer | string;

/** Both kinds throw a GatewayError for an upstream that fails; what was given until then stays valid. */
export interface StreamPipe {
  push(chunk: Buffer): Output[];
  /** Throws when the upstream closed before its answer was complete. */
  end(): Output[];
  usage(): Partial<Usage> | undefined;
}

const ERROR_MARK = Buffer.from('"error"');
const OPEN_BRACE = 123;

/** Frames as they came, but for the model's name. Only frames that may hold an error or usage are parsed. */
export function createRelay(protocol: Protocol, options: EncoderOptions): StreamPipe {
  const framer = createFramer();
  let usage: Partial<Usage> | undefined;
  let complete = false;
  let last: Buffer | undefined;
  let count = 0;

  /** False for a frame that the client must not see. */
  function inspect(event: SseEvent): boolean {
    complete ||= protocol.isEnd(event);
    if (!event.data.startsWith('{')) return true;
    const body = readFrame(event);
    const error = protocol.errorIn(body);
    if (error) throw error;
    const seen = protocol.usageOf(body);
    if (seen) usage = { ...usage, ...seen };
    return options.includeUsage || !protocol.streamUsage?.isExtra(body);
  }

  function relay(frame: Buffer): Output[] {
    const brace = frame.indexOf(OPEN_BRACE);
    const parsed = brace < 0 || frame.includes(protocol.usageMark) || frame.includes(ERROR_MARK);
    last = parsed ? undefined : frame;
    if (parsed) {
      const event = parseFrame(frame);
      if (event && !inspect(event)) return [];
    }
    if (options.array) return element(frame);
    if (brace < 0) return [frame];
    return [frame.subarray(0, brace), nameModel(frame.subarray(brace), protocol, options.model)];
  }

  function element(frame: Buffer): Output[] {
    const event = parseFrame(frame);
    if (!event) return [];
    return [count++ === 0 ? '[' : ',\n', nameModel(Buffer.from(event.data), protocol, options.model)];
  }

  return {
    push: (chunk) => framer.push(chunk).flatMap(relay),
    end() {
      const rest: Output[] = [];
      for (const frame of framer.end()) {
        const event = parseFrame(frame);
        if (!event) continue;
        if (inspect(event)) rest.push(...relay(Buffer.concat([frame, Buffer.from('\n\n')])));
      }
      const event = last && parseFrame(last);
      if (!complete && !(event && protocol.isEnd(event))) throw brokenOff();
      if (options.array) rest.push(']');
      return rest;
    },
    usage: () => usage,
  };
}

/** Events of the upstream's protocol in the client's. Nothing is given before the answer itself begins. */
export function createTranslation(plan: Plan, client: Protocol, options: EncoderOptions): StreamPipe {
  const framer = createFramer();
  const decoder = plan.upstream.streamDecoder(plan.target);
  const encoder = client.streamEncoder(options);
  let usage: Usage | undefined;
  let held = '';
  let begun = false;

  function encode(events: ReturnType<typeof decoder.decode>): Output[] {
    let text = '';
    for (const event of events) {
      if (event.type === 'error') throw event.error;
      if ((event.type === 'message-start' || event.type === 'message-end') && event.usage) usage = event.usage;
      begun ||= event.type !== 'message-start' && event.type !== 'ping';
      text += encoder.encode(event);
    }
    if (!begun) {
      held += text;
      return [];
    }
    const output = held + text;
    held = '';
    return output === '' ? [] : [output];
  }

  const decode = (frame: Buffer): Output[] => {
    const event = parseFrame(frame);
    return event ? encode(decoder.decode(event)) : [];
  };

  return {
    push: (chunk) => framer.push(chunk).flatMap(decode),
    end() {
      const rest = [...framer.end().flatMap(decode), ...encode(decoder.end())];
      const closing = encoder.end();
      return closing === '' ? rest : [...rest, closing];
    },
    usage: () => usage,
  };
}

/** A whole answer for a client that asked for a stream of an upstream that doesn't. */
export function streamWhole(response: ChatResponse, client: Protocol, options: EncoderOptions): string {
  const encoder = client.streamEncoder(options);
  let text = '';
  for (const event of unfold(response)) text += encoder.encode(event);
  return text + encoder.end();
}

function readFrame(event: SseEvent): Json {
  try {
    return read(event.data);
  } catch (cause) {
    throw new GatewayError('upstream_error', 'The upstream sent a broken event.', { cause });
  }
}

function brokenOff(): GatewayError {
  return new GatewayError('upstream_error', 'The upstream closed its answer before the end.');
}
