/**
 * Response of one attempt: an upstream's events in, the client's response out. The head of each round decides which
 * reader its body gets: the writer of streams, one of whole responses, or the reader of errors.
 */

import { GatewayError, toGatewayError } from '../../core/errors.ts';
import { framerFor } from '../../transport/framing/index.ts';
import type { UpstreamExchange, UpstreamReceiver } from '../../transport/upstream-client.ts';
import { handlerOf } from '../operations/index.ts';
import type { ResponseContext, UpstreamHeaders } from './context.ts';
import type { BodyReader } from './ending.ts';
import { readErrorResponse } from './error-response.ts';
import { StreamWriter } from './stream-writer.ts';
import { generatedUsage } from './whole.ts';
import { GatheredWriter, WholeWriter } from './whole-writer.ts';

const JSON_TYPE = 'application/json';
const NO_BYTES = Buffer.alloc(0);

/** Receiver of all rounds of one attempt. */
export interface Responder extends UpstreamReceiver {
  /** Called for each round, before it is sent and with its exchange, which is paused for a slow client and aborted after an error. */
  attach(exchange: UpstreamExchange | undefined): void;
  /** Whether the answer has ended, and the upstream has yet to report its usage. */
  awaitsUsage(): boolean;
}

export function respond(context: ResponseContext): Responder {
  return new AttemptResponder(context);
}

class AttemptResponder implements Responder {
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

  attach(exchange: UpstreamExchange | undefined): void {
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
    const createFramer = framerFor(endpoint.provider.platform, headers['content-type']);
    if (createFramer && call.stream) {
      this.#stream ??= new StreamWriter(context, headers, createFramer);
      return this.#stream;
    }
    if (createFramer && handlerOf(call.operation).readAssembled)
      return new GatheredWriter(context, headers, createFramer());
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

/** The stack overflows on such a response; requests are limited before. */
function nestsTooDeeply(cause: RangeError): GatewayError {
  return new GatewayError('upstream_error', 'The upstream sent a response that nests too deeply.', { cause });
}

function isJson({ 'content-type': type = JSON_TYPE }: UpstreamHeaders): boolean {
  return type === JSON_TYPE || /^application\/([\w.-]+\+)?json/i.test(type);
}
