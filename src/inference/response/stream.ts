/** Streams on their way to the client: a relay of frames, or a translation of events. Fed bytes, both give what to write. */

import type { ChatEvent, ChatResponse, Usage } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { unfold } from '../../core/fold.ts';
import { type Json, parseObject } from '../../core/json/json.ts';
import type { AnswerFacts, EncoderOptions } from '../../core/operation.ts';
import type { Protocol } from '../../core/protocol.ts';
import { createFramer as createSseFramer, type Framer, type SseEvent } from '../../core/sse.ts';
import type { Plan } from '../request/planned-request.ts';
import type { ResponseAssembler } from './assembler.ts';
import { boundFacts } from './facts.ts';
import { createMarkSearch, type FrameText, frameText } from './mark-search.ts';
import { createNullRemover } from './missing-members.ts';
import { createRenamer } from './model-name.ts';
import { readEvent, readFrame } from './read-event.ts';
import { createTextMeter } from './text-meter.ts';
import { addCost } from './whole.ts';

export type Output = Buffer | string;

/** Fed the upstream's bytes, it appends what the client must get to `out`, also when it throws in the middle of them. */
export interface StreamPipe {
  /** Throws a GatewayError for an upstream that fails. */
  push(chunk: Buffer, out: Output[]): void;
  /** Throws when the upstream closed before its answer was complete. */
  end(out: Output[]): void;
  /** What completes the answer, kept back so far: it goes to the client when the answer is accounted for. */
  last(): Output[];
  /** `ending`: a client would wait for no more, but more may come. `ended`: nothing is to be expected but that the upstream closes. */
  phase(): 'open' | 'ending' | 'ended';
  /** Bytes that it keeps in memory. */
  held(): number;
  /** The upstream said that its answer is complete; what happens to the connection afterwards doesn't matter. */
  complete(): boolean;
  facts(): AnswerFacts;
  usage(): Partial<Usage> | undefined;
  /** The usage of an answer that was cut: what the upstream said so far, completed by an estimate. */
  partialUsage(): Partial<Usage> | undefined;
}

const ERROR_MARK = '"error"';
const OPEN_BRACE = 123;
/** Bytes that may come before the answer itself, and after its end; more is no answer. */
const MAX_OUTSIDE_BYTES = 64 * 1024;
/** Of these, comments and pings. */
const MAX_IDLE_BYTES = 4 * 1024;
/** Ends of lines in Unicode, but not in events: clients that take them for such would lose the rest of a text. */
const LINE_ENDS = /[\u0085\u2028\u2029]/g;

export interface RelayOptions {
  /** Of the upstream's stream; of server-sent events if absent. */
  createFramer?: () => Framer;
  /** Called with each frame that was parsed. */
  learn?(body: Json): void;
}

/** Frames as they came, but for the model's name. Only frames that may hold an error, usage or state are parsed; `learn` sees those. */
export function createRelay(
  protocol: Protocol,
  options: EncoderOptions,
  { createFramer = createSseFramer, learn }: RelayOptions = {},
): StreamPipe {
  const { complete: operation } = protocol.operations;
  const stateMarks = (operation.state?.fields ?? []).map((field) => `"${field}"`);
  const mustBeParsed = createMarkSearch([String(operation.usageMark), ERROR_MARK, ...stateMarks]);
  const mayEnd = createMarkSearch(operation.endMarks.map(String));
  const framer = createFramer();
  const rename = createRenamer(operation, options.model);
  /** The gateway asks for usage where the client doesn't, and then a server says in each frame that it has none yet. */
  const unasked = !options.includeUsage && operation.streamUsage;
  const withoutNull = unasked ? createNullRemover(unasked.member) : undefined;
  const meter = createTextMeter(operation.textPlaces);
  /** Tokens of text before the upstream last said how many there are. */
  let reported = 0;
  let usage: Partial<Usage> | undefined;
  let complete = false;
  let facts: AnswerFacts = {};
  /** Of the frame at hand, if it reports usage. */
  let counted: Json;
  let last: Buffer | undefined;
  const closing: Output[] = [];
  let closes = false;
  let count = 0;
  let begun = false;
  /** What comes before the answer itself, which alone shows that this is no error. */
  let held: Output[] = [];
  let heldBytes = 0;
  let closingBytes = 0;

  /** False for a frame that the client must not see. An element of an array must be JSON, other frames may be anything. */
  function inspect(event: SseEvent): boolean {
    const shown = (!options.array && !event.data.startsWith('{')) || passes(event);
    complete ||= operation.isEnd(event);
    return shown;
  }

  function passes(event: SseEvent): boolean {
    const body = readFrame(event);
    const error = protocol.errorIn(body);
    if (error) throw error;
    learn?.(body);
    note(body);
    const seen = operation.usageOf(body);
    if (seen) usage = { ...usage, ...seen };
    if (seen?.output !== undefined) reported = meter.tokens();
    counted = seen && body;
    return options.includeUsage || !operation.streamUsage?.isExtra(body);
  }

  function note(body: Json): void {
    const { id, model, finish } = boundFacts(operation.factsOf(body));
    facts = { id: facts.id ?? id, model: facts.model ?? model, finish: finish ?? facts.finish };
  }

  function lastEvent(): SseEvent | undefined {
    try {
      return last && readEvent(last);
    } catch {
      return undefined;
    }
  }

  /** The end of most answers is not parsed when it passes. */
  function noteLast(): void {
    const event = facts.finish === undefined ? lastEvent() : undefined;
    const body = event && parseObject(event.data);
    if (body) note(body);
  }

  /** What fails after the end changes nothing any more. */
  function accepts(event: SseEvent): boolean {
    try {
      return inspect(event);
    } catch (error) {
      if (!isComplete()) throw error;
      return false;
    }
  }

  /** From the frame on after which a client waits for no more, everything is kept back. */
  function relay(frame: Buffer, out: Output[]): void {
    const text = frameText(frame);
    if (!closes && mayEnd(text)) {
      const event = readEvent(frame);
      closes = event !== undefined && operation.isEnd(event);
      complete ||= closes;
    }
    if (closes && operation.endIsLast && closingBytes > MAX_OUTSIDE_BYTES) return;
    if (closes) closingBytes += frame.length;
    pass(frame, text, closes ? closing : out);
  }

  function pass(frame: Buffer, text: FrameText, out: Output[]): void {
    counted = undefined;
    const brace = frame.indexOf(OPEN_BRACE);
    const parsed = !begun || options.array || brace < 0 || mustBeParsed(text);
    if (brace >= 0) meter.add(frame);
    if (!parsed) last = frame;
    if (parsed) {
      const event = readEvent(frame);
      if (event && !accepts(event)) return;
      if (!begun) {
        open(frame, event, out);
        return;
      }
    }
    write(frame, brace, out, text);
  }

  function open(frame: Buffer, event: SseEvent | undefined, out: Output[]): void {
    const isIdle = !event || operation.isPing?.(event) === true;
    begun = !isIdle && !operation.isPreamble?.(event);
    // A client that has seen nothing yet misses no signs of life.
    if (isIdle && heldBytes + frame.length > MAX_IDLE_BYTES) return;
    if (!begun && heldBytes + frame.length > MAX_OUTSIDE_BYTES) throw neverBegins();
    if (event) write(frame, frame.indexOf(OPEN_BRACE), held);
    else if (!options.array) held.push(frame);
    heldBytes += frame.length;
    if (!begun) return;
    for (const output of held) out.push(output);
    held = [];
    heldBytes = 0;
  }

  function write(frame: Buffer, brace: number, out: Output[], text = frameText(frame)): void {
    if (options.array) element(frame, out);
    else if (brace < 0) out.push(frame);
    else {
      const changed = changedMembers(frame, brace, text);
      rename(changed, brace, out, changed === frame ? text : frameText(changed));
    }
  }

  function changedMembers(frame: Buffer, brace: number, text: FrameText): Buffer {
    const charged = priced(frame, brace);
    if (!withoutNull) return charged;
    return withoutNull(charged, charged === frame ? text : frameText(charged));
  }

  /** False for an upstream that counts what is to come when it begins, and never again. */
  function isReported({ output = 0 }: Partial<Usage>): boolean {
    return output === 0 ? meter.tokens() === 0 : meter.tokens() - reported <= output;
  }

  /** With what the usage in it costs. */
  function priced(frame: Buffer, brace: number): Buffer {
    if (!counted || !usage || !operation.cost) return frame;
    if (usage.output === 0) noteLast();
    const text = addCost(frame.subarray(brace), counted, { operation, usage, options });
    return Buffer.concat([frame.subarray(0, brace), text]);
  }

  function element(frame: Buffer, out: Output[]): void {
    const event = readEvent(frame);
    if (!event) return;
    out.push(count++ === 0 ? '[' : ',\n');
    const data = Buffer.from(event.data);
    rename(data, 0, out, frameText(data));
  }

  /** The last frame that did not look like anything to parse may have been the end. */
  function isComplete(): boolean {
    const event = complete ? undefined : lastEvent();
    return complete || (event !== undefined && operation.isEnd(event));
  }

  return {
    push(chunk, out) {
      for (const frame of framer.push(chunk)) relay(frame, out);
    },
    end(out) {
      for (const frame of framer.end()) {
        const event = readEvent(frame);
        // Nobody misses what was cut off after the end.
        if (!event || (isComplete() && !operation.isEnd(event))) continue;
        if (inspect(event)) relay(Buffer.concat([frame, Buffer.from('\n\n')]), out);
      }
      if (!isComplete()) throw brokenOff();
      if (options.array) closing.push(']');
    },
    last: () => closing,
    held: () => framer.pending + heldBytes + closingBytes,
    phase: () => (closes ? (operation.endIsLast ? 'ended' : 'ending') : 'open'),
    complete: isComplete,
    facts() {
      noteLast();
      return facts;
    },
    usage: () => (usage && isReported(usage) ? usage : undefined),
    partialUsage: () => ({ ...usage, output: Math.max(usage?.output ?? 0, meter.tokens()), estimated: true }),
  };
}

export interface TranslationContext {
  plan: Plan;
  client: Protocol;
  options: EncoderOptions;
  rounds: ResponseAssembler;
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
  rounds,
  createFramer = createSseFramer,
}: TranslationContext): StreamPipe {
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
      for (const joined of rounds.join(event)) encode(joined, out);
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
    facts: rounds.facts,
    usage: () => usage,
    partialUsage() {
      const estimate = rounds.estimate();
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

function neverBegins(): GatewayError {
  return new GatewayError('upstream_error', 'The upstream sent more than enough before its answer, and no answer.');
}

function brokenOff(): GatewayError {
  return new GatewayError('upstream_error', 'The upstream closed its answer before the end.');
}
