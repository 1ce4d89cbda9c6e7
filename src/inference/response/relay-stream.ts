/** Relayed stream: frames of an upstream that speaks the client's protocol, passed on unchanged but for the model name. */

import type { Usage } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { type Json, parseObject } from '../../core/json/json.ts';
import type { AnswerFacts, Cost, EncoderOptions } from '../../core/operation.ts';
import type { ShownUse } from '../../core/output.ts';
import { ownCopy } from '../../core/own-bytes.ts';
import type { Protocol } from '../../core/protocol.ts';
import { createFramer as createSseFramer, type Framer, type SseEvent } from '../../core/sse.ts';
import { addToolUse, boundFacts, joinUsage, withToolUse } from '../../core/usage-bounds.ts';
import type { Output, StreamConverter } from './converter.ts';
import { createMarkSearch, type FrameText, frameText, type MarkSearch } from './mark-search.ts';
import { createNullRemover, type NullRemover } from './missing-members.ts';
import { FrameRenamer } from './model-name.ts';
import { OutputRun } from './output-run.ts';
import { readEvent, readFrame } from './read-event.ts';
import { StreamOpening } from './stream-opening.ts';
import { createTextMeter, type TextMeter } from './text-meter.ts';
import { addCost, usagePath } from './whole.ts';

const ERROR_MARK = '"error"';
const OPEN_BRACE = 123;
/** Maximum size of the frames after the end of the response. */
const MAX_CLOSING_BYTES = 64 * 1024;

export interface RelayOptions {
  /** Framer of the upstream's stream; server-sent events if absent. */
  createFramer?: () => Framer;
  /** Called with each frame that was parsed, and its size. */
  learn?(body: Json, bytes: number): void;
  /** Frames with finished items are parsed. */
  readsItems?: boolean;
  /** Cost of the usage in a frame; `finish` is absent before the end of the response. */
  costOf?(usage: Usage, finish: string | undefined): Cost | undefined;
}

/** Byte searches in the frames of a protocol, shared by all its streams. */
interface FrameChecks {
  mustBeParsed: MarkSearch;
  /** Search of `mustBeParsed` that also finds finished items. */
  mustBeParsedForItems: MarkSearch;
  mayEnd: MarkSearch;
  /** Search of all marks of this protocol at once, because most frames have none. */
  hasMark: MarkSearch;
  withoutNull: NullRemover | undefined;
}

const knownChecks = new WeakMap<Protocol, FrameChecks>();

function checksOf(protocol: Protocol): FrameChecks {
  const known = knownChecks.get(protocol);
  if (known) return known;
  const { state, stored, usageMarks, tools, endMarks, streamUsage } = protocol.operations.complete;
  const marks = [
    ...usageMarks,
    ...(tools?.marks ?? []),
    ERROR_MARK,
    ...(state?.fields ?? []).map((field) => `"${field}"`),
  ];
  const marksForItems = stored ? [...marks, stored.itemMark] : marks;
  const nullable = streamUsage ? [`"${streamUsage.member}"`] : [];
  const checks = {
    mustBeParsed: createMarkSearch(marks),
    mustBeParsedForItems: createMarkSearch(marksForItems),
    hasMark: createMarkSearch([...marksForItems, ...endMarks, ...nullable]),
    mayEnd: createMarkSearch(endMarks),
    withoutNull: streamUsage && createNullRemover(streamUsage.member),
  };
  knownChecks.set(protocol, checks);
  return checks;
}

/** Parses only frames that may contain an error, usage or state, and passes these to `learn`. */
export function createRelay(protocol: Protocol, options: EncoderOptions, more: RelayOptions = {}): StreamConverter {
  return new StreamRelay(protocol, options, more);
}

class StreamRelay implements StreamConverter {
  readonly #protocol: Protocol;
  readonly #operation: Protocol['operations']['complete'];
  readonly #options: EncoderOptions;
  readonly #more: RelayOptions;
  readonly #checks: FrameChecks;
  readonly #mustBeParsed: MarkSearch;
  readonly #framer: Framer;
  readonly #renamer: FrameRenamer;
  readonly #meter: TextMeter;
  readonly #run = new OutputRun();
  readonly #closing: Output[] = [];
  /** Measured text tokens at the upstream's last report of usage. */
  #reported = 0;
  #usage: Partial<Usage> | undefined;
  /** Of tools that are done. */
  #toolUse: ShownUse = {};
  #complete = false;
  #facts: AnswerFacts = {};
  /** Body of the current frame, if it has a usage with a place for the cost. */
  #counted: Json;
  /** Whether the current frame has any of the marks. */
  #isMarked = false;
  /** The last frame that was relayed without parsing. */
  #last: FrameText | undefined;
  #closes = false;
  #count = 0;
  readonly #opening: StreamOpening;
  #begun = false;
  #closingBytes = 0;

  constructor(protocol: Protocol, options: EncoderOptions, more: RelayOptions) {
    const { createFramer = createSseFramer } = more;
    this.#protocol = protocol;
    this.#operation = protocol.operations.complete;
    this.#options = options;
    this.#more = more;
    this.#checks = checksOf(protocol);
    this.#mustBeParsed = more.readsItems ? this.#checks.mustBeParsedForItems : this.#checks.mustBeParsed;
    this.#framer = createFramer();
    this.#renamer = new FrameRenamer(this.#operation, options.model);
    this.#meter = createTextMeter(this.#operation.textPlaces);
    this.#opening = new StreamOpening(this.#operation);
  }

  push(chunk: Buffer, out: Output[]): void {
    try {
      for (const frame of this.#framer.push(chunk)) this.#relay(frame, out);
    } finally {
      this.#run.flush();
    }
  }

  end(out: Output[]): void {
    try {
      for (const frame of this.#framer.end()) {
        const event = readEvent(frame);
        if (!event || !this.#isUsable(event)) continue;
        // A frame that was cut off throws, so that nothing of it is passed on.
        if (event.data.startsWith('{')) readFrame(event);
        this.#relay(Buffer.concat([frame, Buffer.from('\n\n')]), out);
      }
    } finally {
      this.#run.flush();
    }
    if (!this.complete()) throw brokenOff();
    if (this.#options.array) this.#closing.push(']');
  }

  last(): Output[] {
    return this.#closing;
  }

  held(): number {
    return this.#framer.pending + this.#opening.bytes + this.#closingBytes;
  }

  endBytes(): number {
    return 0;
  }

  phase(): 'open' | 'ending' | 'ended' {
    if (!this.#closes) return 'open';
    return this.#operation.endIsLast ? 'ended' : 'ending';
  }

  /** Whether the last unparsed frame was the end of the response. */
  complete(): boolean {
    const event = this.#complete ? undefined : eventIn(this.#last);
    return this.#complete || (event !== undefined && this.#operation.isEnd(event));
  }

  facts(): AnswerFacts {
    this.#noteLast();
    if (this.#facts.id === undefined) this.#noteFrame(this.#opening.preamble);
    return this.#facts;
  }

  firstId(): string | undefined {
    const event = eventIn(this.#opening.preamble);
    return event && this.#operation.stored?.idIn(event.data);
  }

  usage(): Partial<Usage> | undefined {
    return this.#usage && this.#isReported(this.#usage) ? this.#usage : undefined;
  }

  partialUsage(): Partial<Usage> {
    const output = Math.max(this.#usage?.output ?? 0, this.#meter.tokens());
    return withToolUse({ ...this.#usage, output, estimated: true }, this.#toolUse);
  }

  /** False for a frame that is not passed on. An array element must be JSON; other frames can be anything. */
  #inspect(event: SseEvent): boolean {
    const shown = (!this.#options.array && !event.data.startsWith('{')) || this.#passes(event);
    this.#complete ||= this.#operation.isEnd(event);
    return shown;
  }

  /** Whether a frame without its blank line is worth passing: not after the end, and not if it was cut off before its object. */
  #isUsable(event: SseEvent): boolean {
    if (this.#operation.isEnd(event)) return event.data !== '';
    return !this.complete() && event.data.startsWith('{');
  }

  #passes(event: SseEvent): boolean {
    const body = readFrame(event);
    const error = this.#protocol.errorIn(body);
    if (error) {
      if (!this.#complete) this.#noteFailure(body);
      throw error;
    }
    this.#more.learn?.(body, event.data.length);
    this.#note(body);
    const used = this.#operation.tools?.usedIn(body);
    if (used) this.#toolUse = addToolUse(this.#toolUse, used);
    const seen = this.#operation.usageOf(body);
    if (seen) this.#usage = joinUsage(this.#usage, seen);
    if (seen?.output !== undefined) this.#reported = this.#meter.tokens();
    this.#counted = usagePath(body, this.#operation) && body;
    return this.#options.includeUsage || !this.#operation.streamUsage?.isExtra(body);
  }

  #note(body: Json): void {
    const { id, model, finish, sequence = -1 } = boundFacts(this.#operation.factsOf(body));
    const facts = this.#facts;
    const latest = Math.max(sequence, facts.sequence ?? -1);
    this.#facts = {
      id: facts.id ?? id,
      model: facts.model ?? model,
      finish: finish ?? facts.finish,
      ...(latest >= 0 && { sequence: latest }),
    };
  }

  #noteFailure(body: Json): void {
    const { id } = boundFacts(this.#operation.factsOf(body));
    this.#facts = { ...this.#facts, id: this.#facts.id ?? id };
    const seen = this.#operation.usageOf(body);
    if (seen) this.#usage = joinUsage(this.#usage, seen);
  }

  /** Parses the last frame of a stream, which was relayed without parsing. */
  #noteLast(): void {
    if (this.#facts.finish === undefined) this.#noteFrame(this.#last);
  }

  #noteFrame(frame: FrameText | undefined): void {
    const event = eventIn(frame);
    const body = event && parseObject(event.data);
    if (body) this.#note(body);
  }

  /** Errors after the end are ignored. */
  #accepts(event: SseEvent): boolean {
    try {
      return this.#inspect(event);
    } catch (error) {
      if (!this.complete()) throw error;
      return false;
    }
  }

  /** Holds back all output from the frame that completes the response for a client. */
  #relay(frame: Buffer, out: Output[]): void {
    const text = frameText(frame);
    this.#isMarked = this.#checks.hasMark(text);
    if (!this.#closes && this.#isMarked && this.#checks.mayEnd(text)) {
      const event = readEvent(frame);
      this.#closes = event !== undefined && this.#operation.isEnd(event);
      this.#complete ||= this.#closes;
    }
    if (!this.#closes) {
      this.#pass(frame, text, out);
      return;
    }
    if (this.#operation.endIsLast && this.#closingBytes > MAX_CLOSING_BYTES) return;
    this.#closingBytes += frame.length;
    this.#pass(frame, text, this.#closing);
  }

  #pass(frame: Buffer, text: FrameText, out: Output[]): void {
    this.#counted = undefined;
    const brace = text.indexOf('{');
    if (!this.#begun && this.#opening.takeUnread(frame)) {
      this.#write(frame, brace, this.#opening.held, text);
      if (this.#opening.isFull) this.#begin(out);
      return;
    }
    const parsed = !this.#begun || this.#options.array || brace < 0 || (this.#isMarked && this.#mustBeParsed(text));
    if (brace >= 0) this.#meter.add(frame);
    if (!parsed) this.#last = typeof text === 'string' ? text : ownCopy(frame, 0, frame.length);
    else {
      const event = readEvent(frame);
      if (event && !this.#accepts(event)) return;
      if (!this.#begun) {
        this.#open(frame, event, out);
        return;
      }
    }
    this.#write(frame, brace, out, text);
  }

  #open(frame: Buffer, event: SseEvent | undefined, out: Output[]): void {
    const taken = this.#opening.take(frame, event);
    if (taken === 'dropped') return;
    const { held } = this.#opening;
    if (event) this.#write(frame, frame.indexOf(OPEN_BRACE), held, frameText(frame));
    else if (!this.#options.array) this.#run.add(held, frameText(frame));
    if (taken === 'begins') this.#begin(out);
  }

  #begin(out: Output[]): void {
    this.#begun = true;
    this.#run.flush();
    this.#opening.release(out);
  }

  #write(frame: Buffer, brace: number, out: Output[], text: FrameText): void {
    if (this.#options.array) this.#element(frame, out);
    else if (brace < 0) this.#run.add(out, text);
    else {
      const changed = this.#changedMembers(frame, brace, text);
      this.#rename(changed, brace, out, changed === frame ? text : frameText(changed));
    }
  }

  #rename(frame: Buffer, brace: number, out: Output[], text: FrameText): void {
    this.#renamer.rename(frame, { brace, text, out, run: this.#run });
  }

  /** The frame with its cost, and without the empty usage member that servers send if only the gateway asked for usage. */
  #changedMembers(frame: Buffer, brace: number, text: FrameText): Buffer {
    const charged = this.#priced(frame, brace);
    const { withoutNull } = this.#checks;
    if (!withoutNull || this.#options.includeUsage || !this.#isMarked) return charged;
    return withoutNull(charged, charged === frame ? text : frameText(charged));
  }

  /** False for an upstream that reports usage only at the start. */
  #isReported({ output = 0 }: Partial<Usage>): boolean {
    const tokens = this.#meter.tokens();
    return output === 0 ? tokens === 0 : tokens - this.#reported <= output;
  }

  /** The frame with the cost of its usage added. */
  #priced(frame: Buffer, brace: number): Buffer {
    const [counted, operation] = [this.#counted, this.#operation];
    if (!counted) return frame;
    if (!this.#usage?.output) this.#noteLast();
    const { costOf } = this.#more;
    const text = addCost(frame.subarray(brace), counted, {
      operation,
      usage: this.usage() ?? this.partialUsage(),
      costOf: costOf && ((reported) => costOf(reported, this.#facts.finish)),
    });
    return Buffer.concat([frame.subarray(0, brace), text]);
  }

  #element(frame: Buffer, out: Output[]): void {
    const event = readEvent(frame);
    if (!event) return;
    this.#run.put(out, this.#count++ === 0 ? '[' : ',\n');
    const data = Buffer.from(event.data);
    this.#rename(data, 0, out, frameText(data));
  }
}

/** Undefined for a frame without an event and for a broken one. */
function eventIn(frame: FrameText | undefined): SseEvent | undefined {
  try {
    return frame === undefined
      ? undefined
      : readEvent(typeof frame === 'string' ? Buffer.from(frame, 'latin1') : frame);
  } catch {
    return undefined;
  }
}

function brokenOff(): GatewayError {
  return new GatewayError('upstream_error', 'The upstream closed its response before the end.');
}
