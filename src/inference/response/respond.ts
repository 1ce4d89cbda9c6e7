/**
 * Response of one attempt: an upstream's events in, the client's response out. Status, headers, frames, last bytes and
 * trailers are written here, and for streams by the stream writer. The converters only turn bytes into bytes.
 */

import { ByteCollector } from '../../core/byte-collector.ts';
import { GatewayError, toGatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { readResponseJson } from '../../core/json/response.ts';
import { MemberWatch } from '../../core/json/spans.ts';
import { framerFor } from '../../transport/framing/index.ts';
import type { UpstreamExchange, UpstreamReceiver } from '../../transport/upstream-client.ts';
import { handlerOf } from '../operations/index.ts';
import type { ResponseContext, UpstreamHeaders } from './context.ts';
import { type BodyReader, finishWhenRecorded } from './ending.ts';
import { readErrorResponse } from './error-response.ts';
import { costHeader, responseHeaders, unshownHeaders } from './headers.ts';
import { soughtMembers } from './model-name.ts';
import { MAX_STREAM_BYTES, resizeShare } from './response-budget.ts';
import { StreamWriter } from './stream-writer.ts';
import { checkResponse, generatedUsage, type ParsedResponse } from './whole.ts';

const JSON_TYPE = 'application/json';
const NO_BYTES = Buffer.alloc(0);

/** Receiver of all rounds of one attempt. */
export interface Responder extends UpstreamReceiver {
  /** Called for each round, with the exchange that is paused for a slow client and aborted after an error. */
  attach(exchange: UpstreamExchange): void;
  /** Whether the answer has ended, and the upstream has yet to report its usage. */
  awaitsUsage(): boolean;
}

export function respond(context: ResponseContext): Responder {
  return new ResponseWriter(context);
}

class ResponseWriter implements Responder {
  readonly #context: ResponseContext;
  #exchange: UpstreamExchange | undefined;
  /** Kept over all rounds. */
  #stream: StreamWriter | undefined;
  /** Reader of the body of the current round; set after its head. */
  #body: BodyReader | undefined;

  constructor(context: ResponseContext) {
    this.#context = context;
    context.reply.onDrain(() => this.#exchange?.resume());
  }

  attach(exchange: UpstreamExchange): void {
    this.#exchange = exchange;
    this.#body = undefined;
  }

  awaitsUsage(): boolean {
    return this.#stream?.awaitsUsage() === true;
  }

  head(status: number, headers: UpstreamHeaders): void {
    try {
      this.#body = this.#readerOf(status, headers);
    } catch (error) {
      this.#abort(error);
    }
  }

  data(chunk: Buffer): void {
    try {
      this.#body?.data(chunk);
    } catch (error) {
      this.#abort(error);
    }
    if (this.#context.reply.full) this.#exchange?.pause();
  }

  end(): void {
    try {
      this.#body?.end();
    } catch (error) {
      this.#abort(error);
    }
  }

  fail(error: GatewayError): void {
    if (this.#body) this.#body.fail(error);
    else this.#failOutsideOfBody(error);
  }

  #readerOf(status: number, headers: UpstreamHeaders): BodyReader {
    const context = this.#context;
    const { call, endpoint } = context;
    if (status < 200 || status >= 300) {
      const onError = (error: GatewayError) => this.#failOutsideOfBody(error);
      return readErrorResponse(context, { status, headers, onError });
    }
    const createFramer = call.stream ? framerFor(endpoint.provider.platform, headers['content-type']) : undefined;
    if (createFramer) {
      this.#stream ??= new StreamWriter(context, headers, createFramer);
      return this.#stream;
    }
    if (!this.#stream && isJson(headers)) return new WholeWriter(context, headers);
    throw new GatewayError(
      'upstream_error',
      'The upstream answered with something that is neither JSON nor an event stream.',
    );
  }

  #failOutsideOfBody(error: GatewayError): void {
    if (this.#stream) this.#stream.fail(error);
    else this.#context.reject(error, generatedUsage({ bytes: NO_BYTES }, this.#context));
  }

  #abort(error: unknown): void {
    this.#exchange?.abort();
    this.fail(error instanceof RangeError ? nestsTooDeeply(error) : toGatewayError(error));
  }
}

/** A whole response: collected, converted by the handler of its operation, and written at once. */
class WholeWriter implements BodyReader {
  readonly #context: ResponseContext;
  readonly #headers: UpstreamHeaders;
  readonly #collector = new ByteCollector();
  /** The response once it is complete; without its bytes if it is an error. */
  #received: (Pick<ParsedResponse, 'bytes'> & Partial<ParsedResponse>) | undefined;
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
    this.#context.reject(error, generatedUsage(received, this.#context));
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
    const { call, planned, options } = context;
    this.#received = { bytes: NO_BYTES };
    checkResponse(response.json, planned.upstream);
    this.#received = response;
    const converted = handlerOf(call.operation).readWhole(response, context);
    if (converted) resizeShare(context.share, Math.max(response.bytes.length, converted.body.length), MAX_STREAM_BYTES);
    this.#isOver = true;
    if (!converted) return;
    const type = call.stream ? call.protocol.operations.complete.streamType(options) : JSON_TYPE;
    const { body, usage, facts } = converted;
    const head = responseHeaders(context, this.#headers, type);
    if (call.operation.name === 'complete') Object.assign(head, unshownHeaders(context, planned.dropped));
    Object.assign(head, costHeader(context, { usage, finish: facts?.finish }));
    head['content-length'] = String(body.length);
    finishWhenRecorded(context, { result: { status: 'complete', usage, facts }, head, body });
  }
}

/** The stack overflows on such a response; requests are limited before. */
function nestsTooDeeply(cause: RangeError): GatewayError {
  return new GatewayError('upstream_error', 'The upstream sent a response that nests too deeply.', { cause });
}

function isJson({ 'content-type': type = JSON_TYPE }: UpstreamHeaders): boolean {
  return type === JSON_TYPE || /^application\/([\w.-]+\+)?json/i.test(type);
}
