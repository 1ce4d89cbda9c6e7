/** Translated stream: the events of an upstream's protocol, encoded in the client's. */

import type { ChatEvent, ChatResponse, Usage } from '../../core/chat.ts';
import { unfold } from '../../core/fold.ts';
import type { EncoderOptions } from '../../core/operation.ts';
import type { Protocol } from '../../core/protocol.ts';
import { createFramer as createSseFramer, type Framer } from '../../core/sse.ts';
import type { Plan } from '../request/planned-request.ts';
import type { ResponseAssembler } from './assembler.ts';
import type { Output, StreamConverter } from './converter.ts';
import { readEvent } from './read-event.ts';

/** Ends of lines in Unicode, but not in events: clients that take them for such would lose the rest of a text. */
const LINE_ENDS = /[\u0085\u2028\u2029]/g;

export interface TranslationContext {
  plan: Plan;
  client: Protocol;
  options: EncoderOptions;
  assembler: ResponseAssembler;
  /** Of the upstream's stream; of server-sent events if absent. */
  createFramer?: () => Framer;
}

/**
 * Events of the upstream's protocol in the client's. Nothing is given before the answer itself begins. After `end` the
 * next round of the same answer may be pushed.
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
  let framer = createFramer();
  let decoder = upstream.streamDecoder(plan.target);
  let usage: Usage | undefined;
  let held: Output[] = [];
  /** Bytes that the rounds and the two codecs keep of what came. */
  let kept = 0;
  const closing: Output[] = [];
  let begun = false;
  let complete = false;
  /** The upstream's own end was seen; its decoder may wait for more before it ends the message. */
  let ended = false;

  function encode(event: ChatEvent, out: Output[]): void {
    if (event.type === 'error') throw event.error;
    if ((event.type === 'message-start' || event.type === 'message-end') && event.usage) usage = event.usage;
    const text = onOneLine(encoder.encode(event));
    complete ||= event.type === 'message-end';
    begun ||= event.type !== 'message-start' && event.type !== 'ping';
    if (text !== '') held.push(text);
    if (!begun) return;
    const target = complete ? closing : out;
    for (const output of held) target.push(output);
    held = [];
  }

  function decode(frame: Buffer, out: Output[]): void {
    const event = ended && upstream.endIsLast ? undefined : readEvent(frame);
    if (!event) return;
    const events = decoder.decode(event);
    kept += keptBytes(events, frame);
    join(events, out);
    ended ||= upstream.endMarks.some((mark) => frame.includes(mark)) && upstream.isEnd(event);
  }

  function join(events: ChatEvent[], out: Output[]): void {
    for (const event of events) {
      if (event.type === 'ping' && !begun) continue;
      for (const joined of assembler.join(event)) encode(joined, out);
    }
  }

  return {
    push(chunk, out) {
      for (const frame of framer.push(chunk)) decode(frame, out);
    },
    end(out) {
      try {
        for (const frame of framer.end()) decode(frame, out);
        // Now its decoder says whether that was the end.
        ended = false;
        join(decoder.end(), out);
      } catch (error) {
        // What fails after the end changes nothing any more.
        if (!complete) throw error;
      }
      framer = createFramer();
      decoder = upstream.streamDecoder(plan.target);
      if (complete) closing.push(encoder.end());
    },
    last: () => closing,
    held: () => framer.pending + kept,
    phase: () => (ended ? (upstream.endIsLast ? 'ended' : 'ending') : 'open'),
    complete: () => complete || ended,
    facts: assembler.facts,
    usage: () => usage,
    partialUsage() {
      const estimate = assembler.estimate();
      return estimate && { ...estimate, ...usage, output: Math.max(usage?.output ?? 0, estimate.output) };
    },
  };
}

/** A whole answer for a client that asked for a stream of an upstream that doesn't. */
export function streamWhole(response: ChatResponse, client: Protocol, options: EncoderOptions): string {
  const encoder = client.operations.complete.streamEncoder(options);
  let text = '';
  for (const event of unfold(response)) text += onOneLine(encoder.encode(event));
  return text + encoder.end();
}

/** JSON stays the same JSON. */
function onOneLine(text: string): string {
  return text.replace(LINE_ENDS, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** What an event of this kind costs in memory at least. */
const EVENT_BYTES = 256;

/** Bytes that are kept of a frame: the text of what only grows a part, all of anything else. */
function keptBytes(events: readonly ChatEvent[], frame: Buffer): number {
  let bytes = events.length === 0 ? frame.length : 0;
  for (const event of events) {
    const isText = event.type === 'part-delta' && !event.opaque && !event.citation && !event.logprobs;
    if (isText) bytes += event.text?.length ?? 0;
    else if (event.type !== 'ping') bytes += EVENT_BYTES + (event.type === 'part-end' ? 0 : frame.length);
  }
  return bytes;
}
