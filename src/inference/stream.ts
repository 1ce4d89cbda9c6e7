/** Streams on their way to the client: a relay of frames, or a translation of events. Fed bytes, both give what to write. */

import type { ChatEvent, ChatResponse, Usage } from '../core/chat.ts';
import { GatewayError } from '../core/errors.ts';
import { unfold } from '../core/fold.ts';
import { type Json, read } from '../core/json.ts';
import type { EncoderOptions, Protocol } from '../core/protocol.ts';
import { createFramer, parseFrame, type SseEvent } from '../core/sse.ts';
import { nameModel } from './answer.ts';
import type { Plan } from './plan.ts';
import type { Rounds } from './rounds.ts';

export type Output = Buffer | string;

/** Both kinds throw a GatewayError for an upstream that fails; what was given until then stays valid. */
export interface StreamPipe {
  push(chunk: Buffer): Output[];
  /** Throws when the upstream closed before its answer was complete. */
  end(): Output[];
  /** The upstream said that its answer is complete; what happens to the connection afterwards doesn't matter. */
  complete(): boolean;
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
  let begun = false;
  /** Comments before the first event, which alone shows whether this is an answer or an error. */
  let held: Buffer[] = [];

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
    const parsed = !begun || brace < 0 || frame.includes(protocol.usageMark) || frame.includes(ERROR_MARK);
    last = parsed ? undefined : frame;
    if (parsed) {
      const event = parseFrame(frame);
      if (event && !inspect(event)) return [];
      begun ||= event !== undefined;
    }
    if (!begun) {
      if (!options.array) held.push(frame);
      return [];
    }
    const before = held;
    held = [];
    return [...before, ...(options.array ? element(frame) : named(frame, brace))];
  }

  function named(frame: Buffer, brace: number): Output[] {
    if (brace < 0) return [frame];
    return [frame.subarray(0, brace), nameModel(frame.subarray(brace), protocol, options.model)];
  }

  function element(frame: Buffer): Output[] {
    const event = parseFrame(frame);
    if (!event) return [];
    return [count++ === 0 ? '[' : ',\n', nameModel(Buffer.from(event.data), protocol, options.model)];
  }

  /** The last frame may be the end without having looked like anything to parse. */
  function isComplete(): boolean {
    const event = last && parseFrame(last);
    return complete || (event !== undefined && protocol.isEnd(event));
  }

  return {
    push: (chunk) => framer.push(chunk).flatMap(relay),
    end() {
      const rest: Output[] = [];
      // Nobody misses what was cut off after the end.
      for (const frame of isComplete() ? [] : framer.end()) {
        const event = parseFrame(frame);
        if (!event) continue;
        if (inspect(event)) rest.push(...relay(Buffer.concat([frame, Buffer.from('\n\n')])));
      }
      if (!isComplete()) throw brokenOff();
      if (options.array) rest.push(']');
      return rest;
    },
    complete: isComplete,
    usage: () => usage,
  };
}

export interface TranslationContext {
  plan: Plan;
  client: Protocol;
  options: EncoderOptions;
  rounds: Rounds;
}

/**
 * Events of the upstream's protocol in the client's. Nothing is given before the answer itself begins. After `end` the
 * next round of the same answer may be pushed.
 */
export function createTranslation({ plan, client, options, rounds }: TranslationContext): StreamPipe {
  const encoder = client.streamEncoder(options);
  let framer = createFramer();
  let decoder = plan.upstream.streamDecoder(plan.target);
  let usage: Usage | undefined;
  let held = '';
  let begun = false;
  let complete = false;

  function encode(events: ChatEvent[]): Output[] {
    let text = '';
    for (const event of events.flatMap(rounds.join)) {
      if (event.type === 'error') throw event.error;
      if ((event.type === 'message-start' || event.type === 'message-end') && event.usage) usage = event.usage;
      complete ||= event.type === 'message-end';
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
      framer = createFramer();
      decoder = plan.upstream.streamDecoder(plan.target);
      const closing = complete ? encoder.end() : '';
      return closing === '' ? rest : [...rest, closing];
    },
    complete: () => complete,
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
