/**
 * Response of one attempt: an upstream's events in, the client's response out. Status, headers, frames, last bytes and
 * trailers are written here and nowhere else, for streams and whole responses. The converters only turn bytes into bytes.
 */

import { ByteCollector } from '../../core/byte-collector.ts';
import { GatewayError, toGatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { readResponseJson } from '../../core/json/response.ts';
import type { Framer } from '../../core/sse.ts';
import type { Deadline } from '../../transport/deadlines.ts';
import { framerFor } from '../../transport/framing/index.ts';
import type { UpstreamExchange, UpstreamReceiver } from '../../transport/upstream-client.ts';
import { handlerOf } from '../operations/index.ts';
import type { AttemptResult, ResponseContext, UpstreamHeaders } from './context.ts';
import { joined, type Output } from './converter.ts';
import { createStreamConverter } from './create-stream-converter.ts';
import { readErrorResponse } from './error-response.ts';
import { costHeader, costTrailer, responseHeaders, unshownHeaders } from './headers.ts';
import { hold, MAX_STREAM_BYTES } from './response-budget.ts';
import { rememberState } from './state.ts';
import { checkResponse } from './whole.ts';

/** Time that an upstream gets to close its stream after the end of its answer. */
const UPSTREAM_CLOSE_TIMEOUT_MS = 250;
/** Time after which a stream is expected to last, so that memory is worth more than the time to release it. */
const LASTING_MS = 2000;

/** Receiver of all rounds of one attempt. */
export interface Responder extends UpstreamReceiver {
  /** Called for each round, with the exchange that is paused for a slow client and aborted after an error. */
  attach(exchange: UpstreamExchange): void;
}

/** Reader of the body of one round. */
type BodyReader = Pick<UpstreamReceiver, 'data' | 'end' | 'fail'>;

export function respond(context: ResponseContext): Responder {
  const { call, endpoint, reply } = context;
  let exchange: UpstreamExchange | undefined;
  /** Kept over all rounds. */
  let stream: BodyReader | undefined;
  /** Of the round at hand, after its head. */
  let body: BodyReader | undefined;
  reply.onDrain(() => exchange?.resume());

  function readerOf(status: number, headers: UpstreamHeaders): BodyReader {
    if (status < 200 || status >= 300)
      return readErrorResponse(context, { status, headers, onError: failOutsideOfBody });
    const createFramer = call.stream ? framerFor(endpoint.provider.platform, headers['content-type']) : undefined;
    if (createFramer) {
      stream ??= writeStream(context, headers, createFramer);
      return stream;
    }
    if (!stream && isJson(headers)) return writeWhole(context, headers);
    throw new GatewayError(
      'upstream_error',
      'The upstream answered with something that is neither JSON nor an event stream.',
    );
  }

  function failOutsideOfBody(error: GatewayError): void {
    if (stream) stream.fail(error);
    else context.reject(error);
  }

  function fail(error: GatewayError): void {
    if (body) body.fail(error);
    else failOutsideOfBody(error);
  }

  function guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      exchange?.abort();
      fail(error instanceof RangeError ? nestsTooDeeply(error) : toGatewayError(error));
    }
  }

  return {
    attach(attached) {
      exchange = attached;
      body = undefined;
    },
    head: (status, headers) =>
      guard(() => {
        body = readerOf(status, headers);
      }),
    data(chunk) {
      guard(() => body?.data(chunk));
      if (reply.full) exchange?.pause();
    },
    end: () => guard(() => body?.end()),
    fail,
  };
}

/** A stream: written as it comes, with keep-alives, up to the end of the last round or an error in the client's protocol. */
function writeStream(context: ResponseContext, headers: UpstreamHeaders, createFramer: () => Framer): BodyReader {
  const { call, reply, options, assembler, timer } = context;
  const { complete: client } = call.protocol.operations;
  const converter = createStreamConverter(context, createFramer);
  /** Of the next keep-alive; absent before the head is written. */
  let keepAlive: Deadline | undefined;
  /** For the upstream to close its stream. */
  let closing: Deadline | undefined;
  let over = false;
  const began = timer.now();
  let lasts = false;

  function writeHead(): Deadline {
    const type = client.streamType(options);
    reply.head(200, { ...responseHeaders(context, headers, type), ...costTrailer(context) });
    const deadline = timer.watch(() => {
      if (!reply.full) reply.write(options.array ? '\n' : client.keepAlive);
      deadline.in(context.keepAlive);
    });
    return deadline;
  }

  /** Output of a converter that throws is written before its error is handled. */
  function write(convert: (out: Output[]) => void): void {
    const out: Output[] = [];
    try {
      convert(out);
    } finally {
      if (out.length > 0) {
        keepAlive ??= writeHead();
        for (const output of out) reply.write(output);
        keepAlive.in(context.keepAlive);
      }
    }
  }

  function limitClosing(): void {
    const phase = converter.phase();
    if (phase === 'open' || (closing && phase === 'ended')) return;
    closing ??= timer.watch(() => {
      context.abortUpstream();
      fail(new GatewayError('timeout', 'The upstream did not close its response.'));
    });
    closing.in(UPSTREAM_CLOSE_TIMEOUT_MS);
  }

  function end(): void {
    if (over) return;
    closing?.cancel();
    closing = undefined;
    write((out) => converter.end(out));
    const nextRound = assembler?.next();
    if (nextRound) {
      context.continueUpstream(nextRound);
      return;
    }
    const isEmpty = !keepAlive && converter.last().length === 0;
    if (isEmpty) throw new GatewayError('upstream_error', 'The upstream answered with an empty stream.');
    keepAlive ??= writeHead();
    if (assembler) rememberState(context, assembler.parts());
    endStream({ status: 'complete', usage: converter.usage() ?? converter.partialUsage() }, converter.last());
  }

  function fail(error: GatewayError): void {
    const last = over ? undefined : converter.complete() ? errorOfEnd() : error;
    if (!last) return;
    closing?.cancel();
    if (!keepAlive) {
      over = true;
      context.reject(last);
      return;
    }
    const text = client.encodeStreamError(last, call.requestId, options, converter.facts());
    const usage = converter.partialUsage();
    endStream({ status: 'failed', usage, partial: true, error: last }, [...converter.last(), text]);
  }

  /** An error after the end of the answer counts only if the end itself fails. */
  function errorOfEnd(): GatewayError | undefined {
    try {
      end();
      return undefined;
    } catch (thrown) {
      return toGatewayError(thrown);
    }
  }

  function endStream(result: StreamResult, last: Output[]): void {
    over = true;
    keepAlive?.cancel();
    const facts = converter.facts();
    const cost = costHeader(context, { usage: result.usage, finish: facts.finish });
    finishWhenRecorded(context, {
      result: { ...result, facts },
      body: joined(last),
      trailers: { ...cost, ...unshownHeaders(context) },
    });
  }

  return {
    data(chunk) {
      write((out) => converter.push(chunk, out));
      hold(context.share, converter.held() + reply.waiting, MAX_STREAM_BYTES);
      limitClosing();
      if (lasts || !keepAlive || timer.now() - began < LASTING_MS) return;
      lasts = true;
      context.onLasting?.();
    },
    end,
    fail,
  };
}

type StreamResult = Omit<AttemptResult, 'finish' | 'facts'>;

/** A whole response: collected, converted by the handler of its operation, and written at once. */
function writeWhole(context: ResponseContext, headers: UpstreamHeaders): BodyReader {
  const { call, planned, options, share } = context;
  const collector = new ByteCollector();
  let over = false;

  function fail(error: GatewayError): void {
    if (over) return;
    over = true;
    context.reject(error);
  }

  /** A large response is parsed in slices; meanwhile the client may have left. */
  async function respondLater(bytes: Buffer, parsing: Promise<Json>): Promise<void> {
    try {
      const json = await parsing;
      if (!over) respond(bytes, json);
    } catch (error) {
      fail(toGatewayError(error));
    }
  }

  function respond(bytes: Buffer, json: Json): void {
    checkResponse(json, planned.upstream);
    const converted = handlerOf(call.operation).readWhole({ bytes, json }, context);
    over = true;
    if (!converted) return;
    const type = call.stream ? call.protocol.operations.complete.streamType(options) : 'application/json';
    const { body, usage, facts } = converted;
    const head = {
      ...responseHeaders(context, headers, type),
      ...(call.operation.name === 'complete' && unshownHeaders(context, planned.dropped)),
      ...costHeader(context, { usage, finish: facts?.finish }),
      'content-length': String(body.length),
    };
    finishWhenRecorded(context, { result: { status: 'complete', usage, facts }, head, body });
  }

  return {
    data(chunk) {
      collector.add(chunk);
      hold(share, collector.size);
    },
    end() {
      const bytes = collector.take();
      const json = readResponseJson(bytes);
      if (json instanceof Promise) void respondLater(bytes, json);
      else respond(bytes, json);
    },
    fail,
  };
}

interface Ending {
  result: Omit<AttemptResult, 'finish'>;
  /** Headers of a whole response. */
  head?: Record<string, string>;
  /** The last bytes. */
  body: Output;
  trailers?: Record<string, string>;
}

/** Reports the outcome. The client gets the last bytes from `finish`, which is called when the outcome is recorded. */
function finishWhenRecorded({ reply, resolve }: ResponseContext, { result, head, body, trailers }: Ending): void {
  resolve({
    ...result,
    finish() {
      if (head) reply.head(200, head);
      reply.end(body, trailers);
    },
  });
}

/** The stack overflows on such a response; requests are limited before. */
function nestsTooDeeply(cause: RangeError): GatewayError {
  return new GatewayError('upstream_error', 'The upstream sent a response that nests too deeply.', { cause });
}

function isJson(headers: UpstreamHeaders): boolean {
  return /^application\/([\w.-]+\+)?json/i.test(headers['content-type'] ?? 'application/json');
}
