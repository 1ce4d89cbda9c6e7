/** Writers of whole responses: collected from JSON, or gathered from a stream, and written at once. */

import { ByteCollector } from '../../core/byte-collector.ts';
import type { ChatEvent, Usage } from '../../core/chat.ts';
import { type GatewayError, toGatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { readResponseJson } from '../../core/json/response.ts';
import { MemberWatch } from '../../core/json/spans.ts';
import type { Framer } from '../../core/sse.ts';
import type { StreamDecoder } from '../../core/stream-codec.ts';
import { hasOutputOrToolUse } from '../../core/usage-bounds.ts';
import type { Deadline } from '../../transport/deadlines.ts';
import { handlerOf } from '../operations/index.ts';
import { estimateOutput } from '../tokens/estimate.ts';
import { createResponseAssembler, type ResponseAssembler, textOfParts } from './assembler.ts';
import type { ResponseContext, UpstreamHeaders } from './context.ts';
import {
  type BodyReader,
  COUNTS_TIMEOUT_MS,
  finishWhenRecorded,
  UPSTREAM_CLOSE_TIMEOUT_MS,
  watchClosing,
} from './ending.ts';
import { costHeader, responseHeaders, unshownHeaders } from './headers.ts';
import { soughtMembers } from './model-name.ts';
import { readEvent } from './read-event.ts';
import { MAX_STREAM_BYTES, resizeShare } from './response-budget.ts';
import { MAX_FIRST_TOKENS } from './stream-writer.ts';
import { checkResponse, type FailedResponse, type ParsedResponse, type WholeResponse } from './whole.ts';

const NO_BYTES = Buffer.alloc(0);

/** A whole response: collected, converted by the handler of its operation, and written at once. */
export class WholeWriter implements BodyReader {
  readonly #context: ResponseContext;
  readonly #headers: UpstreamHeaders;
  readonly #collector = new ByteCollector();
  /** The response once it is complete; without its bytes if it is an error. */
  #received: FailedResponse | undefined;
  #isOver = false;

  constructor(context: ResponseContext, headers: UpstreamHeaders) {
    this.#context = context;
    this.#headers = headers;
  }

  data(chunk: Buffer): void {
    this.#collector.addCopy(chunk);
    resizeShare(this.#context.share, this.#collector.size);
  }

  end(): void {
    const bytes = this.#collector.take();
    this.#received = { bytes };
    const members = new MemberWatch(soughtMembers(this.#context.call.operation));
    const json = readResponseJson(bytes, members);
    if (json instanceof Promise) void this.#respondLater(json, { bytes, members });
    else this.#respond({ bytes, members, json });
  }

  fail(error: GatewayError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const received = this.#received ?? { bytes: this.#collector.take() };
    this.#context.reject(error, failedUsage(received, this.#context));
  }

  /** A large response is parsed in slices; meanwhile the client may have left. */
  async #respondLater(parsing: Promise<Json>, scanned: Omit<ParsedResponse, 'json'>): Promise<void> {
    try {
      const json = await parsing;
      if (!this.#isOver) this.#respond({ ...scanned, json });
    } catch (error) {
      this.fail(toGatewayError(error));
    }
  }

  #respond(response: ParsedResponse): void {
    const context = this.#context;
    const { call, planned } = context;
    this.#received = { bytes: NO_BYTES };
    checkResponse(response.json, planned.upstream);
    this.#received = response;
    const converted = handlerOf(call.operation).readWhole(response, context);
    if (converted) resizeShare(context.share, Math.max(response.bytes.length, converted.body.length), MAX_STREAM_BYTES);
    this.#isOver = true;
    this.#received = undefined;
    if (converted) writeWhole(context, this.#headers, converted);
  }
}

/** A stream in response to a request for none, as some servers send it: gathered, and written at once. */
export class GatheredWriter implements BodyReader {
  readonly #context: ResponseContext;
  readonly #headers: UpstreamHeaders;
  readonly #framer: Framer;
  readonly #decoder: StreamDecoder;
  readonly #assembler: ResponseAssembler;
  #size = 0;
  /** The message has ended; what follows is ignored. */
  #isComplete = false;
  /** Deadline for the upstream to close its stream. */
  #closing: Deadline | undefined;
  /** The end was handled, or a frame was refused. */
  #isEnded = false;
  #isOver = false;

  constructor(context: ResponseContext, headers: UpstreamHeaders, framer: Framer) {
    const { planned, assembler = createResponseAssembler(planned) } = context;
    this.#context = context;
    this.#headers = headers;
    this.#framer = framer;
    this.#decoder = planned.upstream.operations.complete.streamDecoder(planned.target);
    this.#assembler = assembler;
  }

  data(chunk: Buffer): void {
    this.#size += chunk.length;
    resizeShare(this.#context.share, this.#size);
    for (const frame of this.#framer.push(chunk)) this.#read(frame);
    if (this.#closing || !(this.#isComplete || this.#decoder.isWhole?.())) return;
    this.#closing = watchClosing(this.#context, this);
    this.#closing.in(this.#isComplete ? UPSTREAM_CLOSE_TIMEOUT_MS : COUNTS_TIMEOUT_MS);
  }

  end(): void {
    for (const frame of this.#framer.end()) this.#read(frame);
    this.#finish();
  }

  fail(error: GatewayError): void {
    if (this.#isOver) return;
    const last = this.#isEnded ? error : this.#errorOfEnd(error);
    this.#isOver = true;
    if (!last) return;
    const usage = this.#generatedUsage();
    const least = this.#assembler.parts().length > 0 ? 0 : MAX_FIRST_TOKENS;
    const isGenerated = usage && hasOutputOrToolUse({ ...usage, output: usage.output - least });
    this.#context.reject(last, isGenerated ? usage : undefined);
  }

  /** Estimated from the parts where the counts cannot be read. */
  #generatedUsage(): Usage | undefined {
    try {
      return this.#assembler.generatedUsage(asEstimate(this.#decoder.usage()));
    } catch {
      return { input: 0, output: estimateOutput(textOfParts(this.#assembler.parts())), estimated: true };
    }
  }

  /** An error after the end of the message counts only if the end itself fails. */
  #errorOfEnd(error: GatewayError): GatewayError | undefined {
    try {
      this.#finish();
      return undefined;
    } catch (thrown) {
      return this.#isComplete ? toGatewayError(thrown) : error;
    }
  }

  #read(frame: Buffer): void {
    try {
      const event = this.#isComplete ? undefined : readEvent(frame);
      if (event) this.#join(this.#decoder.decode(event));
    } catch (error) {
      this.#isEnded = true;
      throw error;
    }
  }

  #join(events: readonly ChatEvent[]): void {
    for (const event of events) {
      if (this.#isComplete) return;
      this.#assembler.join(event);
      this.#isComplete = event.type === 'message-end';
    }
  }

  #finish(): void {
    const context = this.#context;
    this.#isEnded = true;
    this.#closing?.cancel();
    this.#join(this.#decoder.end());
    const converted = handlerOf(context.call.operation).readAssembled?.(this.#assembler, context);
    this.#isOver = true;
    if (converted) writeWhole(context, this.#headers, converted);
  }
}

/** Estimated from the bytes where the counts cannot be read: a failure always has its answer. */
function failedUsage(response: FailedResponse, context: ResponseContext): Partial<Usage> | undefined {
  const handler = handlerOf(context.call.operation);
  try {
    return handler.failedUsage(response, context);
  } catch {
    return handler.failedUsage({ bytes: response.bytes }, context);
  }
}

function asEstimate(usage: Usage | undefined): Usage | undefined {
  return usage && { ...usage, estimated: true };
}

function writeWhole(context: ResponseContext, upstream: UpstreamHeaders, { body, usage, facts }: WholeResponse): void {
  const { call, planned, options } = context;
  const type = call.stream ? call.protocol.operations.complete.streamType(options) : 'application/json';
  const head = responseHeaders(context, upstream, type);
  if (call.operation.name === 'complete') Object.assign(head, unshownHeaders(context, planned.dropped));
  Object.assign(head, costHeader(context, { usage, finish: facts?.finish }));
  head['content-length'] = String(body.length);
  finishWhenRecorded(context, { result: { status: 'complete', usage, facts }, head, body });
}
