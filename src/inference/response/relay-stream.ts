/** Relayed stream: frames of an upstream that speaks the client's protocol, passed on unchanged but for the model name. */

import type { Usage } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { type Json, parseObject } from '../../core/json/json.ts';
import type { AnswerFacts, Cost, EncoderOptions } from '../../core/operation.ts';
import type { Protocol } from '../../core/protocol.ts';
import { createFramer as createSseFramer, type Framer, type SseEvent } from '../../core/sse.ts';
import type { Output, StreamConverter } from './converter.ts';
import { boundFacts } from './facts.ts';
import { createMarkSearch, type FrameText, frameText } from './mark-search.ts';
import { createNullRemover } from './missing-members.ts';
import { createRenamer } from './model-name.ts';
import { readEvent, readFrame } from './read-event.ts';
import { createTextMeter } from './text-meter.ts';
import { addCost } from './whole.ts';

const ERROR_MARK = '"error"';
const OPEN_BRACE = 123;
/** Maximum number of bytes before the first event of the response and after its end. */
const MAX_OUTSIDE_BYTES = 64 * 1024;
/** Maximum of these in comments and pings. */
const MAX_IDLE_BYTES = 4 * 1024;
/** Maximum of an unread preamble that is held back; after it, an error can no longer replace the response. */
const MAX_PREAMBLE_BYTES = 1024 * 1024;
/** Bytes of a frame that tell whether it is an unread preamble. */
const START_BYTES = 96;

export interface RelayOptions {
  /** Framer of the upstream's stream; server-sent events if absent. */
  createFramer?: () => Framer;
  /** Called with each frame that was parsed. */
  learn?(body: Json): void;
  /** Cost of the usage in a frame; `finish` is absent before the end of the response. */
  costOf?(usage: Usage, finish: string | undefined): Cost | undefined;
}

/** Parses only frames that may contain an error, usage or state, and passes these to `learn`. */
export function createRelay(
  protocol: Protocol,
  options: EncoderOptions,
  { createFramer = createSseFramer, learn, costOf }: RelayOptions = {},
): StreamConverter {
  const { complete: operation } = protocol.operations;
  const stateMarks = (operation.state?.fields ?? []).map((field) => `"${field}"`);
  const mustBeParsed = createMarkSearch([String(operation.usageMark), ERROR_MARK, ...stateMarks]);
  const mayEnd = createMarkSearch(operation.endMarks.map(String));
  const framer = createFramer();
  const rename = createRenamer(operation, options.model);
  /** Usage that only the gateway requested; servers then send an empty usage member in each frame. */
  const unasked = !options.includeUsage && operation.streamUsage;
  const withoutNull = unasked ? createNullRemover(unasked.member) : undefined;
  const meter = createTextMeter(operation.textPlaces);
  /** Measured text tokens at the upstream's last report of usage. */
  let reported = 0;
  let usage: Partial<Usage> | undefined;
  let complete = false;
  let facts: AnswerFacts = {};
  /** Body of the current frame, if it reports usage. */
  let counted: Json;
  let last: Buffer | undefined;
  const closing: Output[] = [];
  let closes = false;
  let count = 0;
  let begun = false;
  /** Output before the first event of the response, held back because an error may follow. */
  let held: Output[] = [];
  let heldBytes = 0;
  /** First frame of an unread preamble, and the size of the preamble. */
  let preamble: Buffer | undefined;
  let preambleBytes = 0;
  let closingBytes = 0;

  /** False for a frame that is not passed on. An array element must be JSON; other frames can be anything. */
  function inspect(event: SseEvent): boolean {
    const shown = (!options.array && !event.data.startsWith('{')) || passes(event);
    complete ||= operation.isEnd(event);
    return shown;
  }

  function passes(event: SseEvent): boolean {
    const body = readFrame(event);
    const error = protocol.errorIn(body);
    if (error) {
      if (!complete) noteFailure(body);
      throw error;
    }
    learn?.(body);
    note(body);
    const seen = operation.usageOf(body);
    if (seen) usage = { ...usage, ...seen };
    if (seen?.output !== undefined) reported = meter.tokens();
    counted = seen && body;
    return options.includeUsage || !operation.streamUsage?.isExtra(body);
  }

  function note(body: Json): void {
    const { id, model, finish, sequence = -1 } = boundFacts(operation.factsOf(body));
    const latest = Math.max(sequence, facts.sequence ?? -1);
    facts = {
      id: facts.id ?? id,
      model: facts.model ?? model,
      finish: finish ?? facts.finish,
      ...(latest >= 0 && { sequence: latest }),
    };
  }

  function noteFailure(body: Json): void {
    const { id } = boundFacts(operation.factsOf(body));
    facts = { ...facts, id: facts.id ?? id };
    const seen = operation.usageOf(body);
    if (seen) usage = { ...usage, ...seen };
  }

  function eventIn(frame: Buffer | undefined): SseEvent | undefined {
    try {
      return frame && readEvent(frame);
    } catch {
      return undefined;
    }
  }

  /** Parses the last frame of a stream, which was relayed without parsing. */
  function noteLast(): void {
    if (facts.finish === undefined) noteFrame(last);
  }

  function noteFrame(frame: Buffer | undefined): void {
    const event = eventIn(frame);
    const body = event && parseObject(event.data);
    if (body) note(body);
  }

  /** Errors after the end are ignored. */
  function accepts(event: SseEvent): boolean {
    try {
      return inspect(event);
    } catch (error) {
      if (!isComplete()) throw error;
      return false;
    }
  }

  /** Holds back all output from the frame that completes the response for a client. */
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
    if (!begun && operation.isUnreadPreamble?.(frame.toString('latin1', 0, START_BYTES))) {
      preamble ??= frame;
      preambleBytes += frame.length;
      write(frame, brace, held, text);
      if (preambleBytes > MAX_PREAMBLE_BYTES) release(out);
      return;
    }
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
    const begins = !isIdle && !operation.isPreamble?.(event);
    // Comments and pings are not needed before the first frame.
    if (isIdle && heldBytes + frame.length > MAX_IDLE_BYTES) return;
    if (!begins && heldBytes + frame.length > MAX_OUTSIDE_BYTES) throw neverBegins();
    if (event) write(frame, frame.indexOf(OPEN_BRACE), held);
    else if (!options.array) held.push(frame);
    heldBytes += frame.length;
    if (begins) release(out);
  }

  function release(out: Output[]): void {
    begun = true;
    for (const output of held) out.push(output);
    held = [];
    heldBytes = 0;
    preambleBytes = 0;
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

  /** False for an upstream that reports usage only at the start. */
  function isReported({ output = 0 }: Partial<Usage>): boolean {
    return output === 0 ? meter.tokens() === 0 : meter.tokens() - reported <= output;
  }

  /** The frame with the cost of its usage added. */
  function priced(frame: Buffer, brace: number): Buffer {
    if (!counted || !usage || !operation.cost) return frame;
    if (usage.output === 0) noteLast();
    const text = addCost(frame.subarray(brace), counted, {
      operation,
      usage,
      costOf: costOf && ((reported) => costOf(reported, facts.finish)),
    });
    return Buffer.concat([frame.subarray(0, brace), text]);
  }

  function element(frame: Buffer, out: Output[]): void {
    const event = readEvent(frame);
    if (!event) return;
    out.push(count++ === 0 ? '[' : ',\n');
    const data = Buffer.from(event.data);
    rename(data, 0, out, frameText(data));
  }

  /** Whether the last unparsed frame was the end of the response. */
  function isComplete(): boolean {
    const event = complete ? undefined : eventIn(last);
    return complete || (event !== undefined && operation.isEnd(event));
  }

  return {
    push(chunk, out) {
      for (const frame of framer.push(chunk)) relay(frame, out);
    },
    end(out) {
      for (const frame of framer.end()) {
        const event = readEvent(frame);
        // An incomplete frame after the end is ignored.
        if (!event || (isComplete() && !operation.isEnd(event))) continue;
        if (inspect(event)) relay(Buffer.concat([frame, Buffer.from('\n\n')]), out);
      }
      if (!isComplete()) throw brokenOff();
      if (options.array) closing.push(']');
    },
    last: () => closing,
    held: () => framer.pending + heldBytes + preambleBytes + closingBytes,
    phase: () => (closes ? (operation.endIsLast ? 'ended' : 'ending') : 'open'),
    complete: isComplete,
    facts() {
      noteLast();
      if (facts.id === undefined) noteFrame(preamble);
      return facts;
    },
    usage: () => (usage && isReported(usage) ? usage : undefined),
    partialUsage: () => ({ ...usage, output: Math.max(usage?.output ?? 0, meter.tokens()), estimated: true }),
  };
}

function neverBegins(): GatewayError {
  return new GatewayError('upstream_error', 'The upstream sent more than enough before its answer, and no answer.');
}

function brokenOff(): GatewayError {
  return new GatewayError('upstream_error', 'The upstream closed its answer before the end.');
}
