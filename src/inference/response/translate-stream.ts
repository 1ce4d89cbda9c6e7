/** Translated stream: events of the upstream's protocol, encoded in the client's protocol. */

import type { ChatEvent, ChatResponse, Usage } from '../../core/chat.ts';
import { unfold } from '../../core/fold.ts';
import type { EncoderOptions } from '../../core/operation.ts';
import type { Protocol } from '../../core/protocol.ts';
import { createFramer as createSseFramer, type Framer } from '../../core/sse.ts';
import type { Plan } from '../request/planned-request.ts';
import type { ResponseAssembler } from './assembler.ts';
import type { Output, StreamConverter } from './converter.ts';
import { createMarkSearch } from './mark-search.ts';
import { readEvent } from './read-event.ts';
import { RepeatedFrame } from './repeated-frame.ts';

type Delta = Extract<ChatEvent, { type: 'part-delta' }>;

/** Unicode line separators, which are escaped because some clients end an event line at them. */
const LINE_END = /[\u0085\u2028\u2029]/;
const LINE_ENDS = /[\u0085\u2028\u2029]/g;

export interface TranslationContext {
  plan: Plan;
  client: Protocol;
  options: EncoderOptions;
  assembler: ResponseAssembler;
  /** Framer of the upstream's stream; server-sent events if absent. */
  createFramer?: () => Framer;
}

/**
 * Creates a translation. It has no output before the first event of the message. After `end` the next round of the same
 * response may be pushed.
 */
export function createTranslation({
  plan,
  client,
  options,
  assembler,
  createFramer = createSseFramer,
}: TranslationContext): StreamConverter {
  const encoder = client.operations.complete.streamEncoder(options);
  const { complete: upstream } = plan.upstream.operations;
  const mayEnd = createMarkSearch(upstream.endMarks);
  let framer = createFramer();
  let decoder = upstream.streamDecoder(plan.target);
  let usage: Usage | undefined;
  const repeated = new RepeatedFrame();
  const held: string[] = [];
  /** Bytes held by the assembler and the two codecs. */
  let kept = 0;
  const closing: Output[] = [];
  let closingBytes = 0;
  let begun = false;
  let complete = false;
  /** The end mark of the upstream was received; its decoder may wait for more before it ends the message. */
  let ended = false;
  /** Error of the upstream, its events or their encoding; after an end mark the message may end all the same. */
  let failure: Error | undefined;

  function encode(event: ChatEvent, out: Output[]): void {
    if ((event.type === 'message-start' || event.type === 'message-end') && event.usage) usage = event.usage;
    const text = onOneLine(encoder.encode(event));
    complete ||= event.type === 'message-end';
    begun ||= event.type !== 'message-start' && event.type !== 'ping';
    if (!begun) held.push(text);
    else {
      if (held.length > 0) for (const earlier of held.splice(0)) write(earlier, out);
      write(text, out);
    }
  }

  function write(text: string, out: Output[]): void {
    if (text === '') return;
    if (!complete) out.push(text);
    else {
      closing.push(text);
      closingBytes += text.length;
    }
  }

  /** Decodes bytes that are a frame like the one before; false if they are not. */
  function repeats(bytes: Buffer, out: Output[]): boolean {
    const text = repeated.textIn(bytes);
    const events = text === undefined ? undefined : decoder.again?.(text);
    if (!events) return false;
    kept += keptBytes(events, bytes);
    // A text may be the end of its part, such as of the arguments of a call.
    if (onlyText(events) === undefined) repeated.forget();
    join(events, out);
    return true;
  }

  function decode(frame: Buffer, out: Output[]): void {
    const event = ended && upstream.endIsLast ? undefined : readEvent(frame);
    if (!event) return;
    const events = decoder.decode(event);
    kept += keptBytes(events, frame);
    const isEnd = (mayEnd(event.data) || mayEnd(event.event ?? '')) && upstream.isEnd(event);
    const text = isEnd || !decoder.again ? undefined : onlyText(events);
    if (text === undefined) repeated.forget();
    else repeated.remember(frame, event.data, text);
    // The response has ended without a required part.
    ended ||= isEnd && events.at(-1)?.type === 'error';
    join(events, out);
    ended ||= isEnd;
  }

  function join(events: ChatEvent[], out: Output[]): void {
    try {
      for (const event of events) {
        if (event.type === 'error') throw event.error;
        if (event.type === 'ping' && !begun) continue;
        for (const one of assembler.join(event)) encode(one, out);
      }
    } catch (error) {
      failure = error as Error;
      throw failure;
    }
  }

  return {
    push(chunk, out) {
      if (framer.pending === 0 && repeats(chunk, out)) return;
      for (const frame of framer.push(chunk)) if (!repeats(frame, out)) decode(frame, out);
    },
    end(out) {
      try {
        for (const frame of framer.end()) decode(frame, out);
        // The decoder decides whether that was the end.
        ended = false;
        join(decoder.end(), out);
        if (failure) throw failure;
      } catch (error) {
        // Errors after the end are ignored.
        if (!complete) throw error;
      }
      framer = createFramer();
      repeated.forget();
      decoder = upstream.streamDecoder(plan.target);
      if (complete) closing.push(encoder.end());
    },
    last: () => closing,
    held: () => framer.pending + kept,
    endBytes: () => closingBytes,
    phase() {
      if (!ended) return 'open';
      if (upstream.endIsLast) return 'ended';
      return decoder.usage() ? 'ending' : 'uncounted';
    },
    complete: () => complete || ended || decoder.isWhole?.() === true,
    facts: assembler.facts,
    fail: (error) => encoder.fail?.(error),
    usage: () => usage,
    partialUsage: () => assembler.partialUsage(decoder.usage()),
  };
}

/** Encodes a whole response as a stream, for an upstream that does not stream. */
export function streamWhole(response: ChatResponse, client: Protocol, options: EncoderOptions): string {
  const encoder = client.operations.complete.streamEncoder(options);
  let text = '';
  for (const event of unfold(response)) text += onOneLine(encoder.encode(event));
  return text + encoder.end();
}

/** Escapes line separators; the JSON value stays the same. */
function onOneLine(text: string): string {
  if (!LINE_END.test(text)) return text;
  return text.replace(LINE_ENDS, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Minimum memory of an event. */
const EVENT_BYTES = 256;

/** The text of events that are one delta of text alone. */
function onlyText(events: readonly ChatEvent[]): string | undefined {
  const [event, another] = events;
  return event && !another && isText(event) ? event.text : undefined;
}

function isText(event: ChatEvent): event is Delta {
  return event.type === 'part-delta' && !event.opaque && !event.citation && !event.logprobs;
}

/** Bytes held of a frame: the texts of deltas; with any other event all of it, once. */
function keptBytes(events: readonly ChatEvent[], frame: Buffer): number {
  let bytes = 0;
  let isWhole = events.length === 0;
  for (const event of events) {
    if (isText(event)) bytes += event.text?.length ?? 0;
    else if (event.type !== 'ping') {
      bytes += EVENT_BYTES;
      isWhole ||= event.type !== 'part-end';
    }
  }
  return isWhole ? bytes + frame.length : bytes;
}
