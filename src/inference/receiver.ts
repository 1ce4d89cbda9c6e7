/** Hears an upstream's answer and writes the client's: whole, as a stream, or as an error. */

import { GatewayError, toGatewayError } from '../core/errors.ts';
import type { EncoderOptions } from '../core/protocol.ts';
import { type Answer, encodeAnswer, errorOf, relayAnswer, translateAnswer } from './answer.ts';
import { type Call, type Endpoint, encoderOptions, type Reply } from './call.ts';
import { type Deadline, watch } from './deadlines.ts';
import type { Plan } from './plan.ts';
import type { Outcome } from './relay.ts';
import { createRelay, createTranslation, type StreamPipe, streamWhole } from './stream.ts';
import type { Exchange, Receiver } from './upstream.ts';

export interface Delivery {
  call: Call;
  endpoint: Endpoint;
  planned: Plan;
  reply: Reply;
  /** Milliseconds of silence after which a stream gets a comment or ping. */
  keepAlive: number;
  /** The answer was begun and is over. */
  resolve(outcome: Omit<Outcome, 'path'>): void;
  /** Nothing was written yet: the caller may answer with the error or ask elsewhere. */
  reject(error: GatewayError): void;
}

export interface AttachedReceiver extends Receiver {
  /** Gives the receiver its hand on the exchange: to pause it for a slow client, and to stop it. */
  attach(exchange: Exchange): void;
}

/** Larger answers in one piece are refused: a broken or hostile upstream must not fill the memory. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
const MAX_ERROR_BYTES = 1024 * 1024;

type Headers = Record<string, string | undefined>;

export function createReceiver(delivery: Delivery): AttachedReceiver {
  const { call, endpoint, planned, reply } = delivery;
  const options = encoderOptions(call, endpoint, planned.request?.reasoning?.visible === false);
  let exchange: Exchange | undefined;
  let inner: Receiver | undefined;

  function stop(error: unknown): void {
    exchange?.abort();
    inner?.fail(toGatewayError(error));
  }

  return {
    attach(attached) {
      exchange = attached;
      reply.onDrain(() => attached.resume());
    },
    head(status, headers) {
      const streamed = status < 300 && call.stream && isEventStream(headers);
      inner = streamed
        ? receiveStream(delivery, options, headers)
        : receiveWhole(delivery, options, { status, headers });
      if (status >= 200 && status < 300 && !streamed && !isJson(headers)) {
        stop(
          new GatewayError(
            'upstream_error',
            'The upstream answered with something that is neither JSON nor an event stream.',
          ),
        );
      }
    },
    data(chunk) {
      try {
        inner?.data(chunk);
      } catch (error) {
        stop(error);
      }
      if (reply.full) exchange?.pause();
    },
    end() {
      try {
        inner?.end();
      } catch (error) {
        stop(error);
      }
    },
    fail(error) {
      if (inner) inner.fail(error);
      else delivery.reject(error);
    },
  };
}

function isEventStream(headers: Headers): boolean {
  return headers['content-type']?.toLowerCase().startsWith('text/event-stream') ?? false;
}

function isJson(headers: Headers): boolean {
  return /^application\/([\w.-]+\+)?json/i.test(headers['content-type'] ?? 'application/json');
}

function answerHeaders({ endpoint, planned }: Delivery, upstream: Headers, type: string): Record<string, string> {
  const requestId = upstream['x-request-id'] ?? upstream['request-id'];
  return {
    'content-type': type,
    'x-polygate-provider': endpoint.provider.id,
    'x-polygate-path': planned.path,
    ...(planned.dropped.length > 0 && {
      'x-polygate-dropped': planned.dropped.join(', ').replace(/[^\x20-\x7e]/g, '?'),
    }),
    ...(requestId && { 'x-polygate-upstream-request-id': requestId }),
  };
}

interface Status {
  status: number;
  headers: Headers;
}

function receiveWhole(delivery: Delivery, options: EncoderOptions, { status, headers }: Status): Receiver {
  const { call, planned, reply } = delivery;
  const failed = status < 200 || status >= 300;
  const limit = failed ? MAX_ERROR_BYTES : MAX_ANSWER_BYTES;
  const chunks: Buffer[] = [];
  let length = 0;

  function answer(bytes: Buffer): Answer {
    if (call.action === 'count') return countAnswer(bytes, delivery);
    if (planned.upstream === call.protocol && !call.stream) return relayAnswer(bytes, call.protocol, options.model);
    const response = translateAnswer(bytes, planned);
    if (!call.stream) return encodeAnswer(response, call.protocol, options);
    return { body: Buffer.from(streamWhole(response, call.protocol, options)), usage: response.usage };
  }

  const refusal = (bytes: Buffer): GatewayError =>
    errorOf({ status, headers, bytes, relayed: planned.upstream === call.protocol }, planned);

  return {
    head() {},
    data(chunk) {
      length += chunk.length;
      if (length <= limit) chunks.push(chunk);
      else if (!failed)
        throw new GatewayError('upstream_error', 'The upstream answered with more than the gateway accepts.');
    },
    end() {
      const bytes = Buffer.concat(chunks);
      if (failed) return delivery.reject(refusal(bytes));
      const { body, usage } = answer(bytes);
      const type = call.stream ? call.protocol.streamType(options) : 'application/json';
      reply.head(200, { ...answerHeaders(delivery, headers, type), 'content-length': String(body.length) });
      reply.end(body);
      delivery.resolve({ status: 'complete', usage });
    },
    // An error answer that breaks off is still that error.
    fail: (error) => delivery.reject(failed ? refusal(Buffer.concat(chunks)) : error),
  };
}

function countAnswer(bytes: Buffer, { call, planned }: Delivery): Answer {
  const { body } = relayAnswer(bytes, planned.upstream, '');
  if (planned.upstream === call.protocol) return { body: bytes };
  const tokens = planned.upstream.decodeCount(JSON.parse(body.toString('utf8')));
  if (tokens === undefined)
    throw new GatewayError('upstream_error', 'The upstream did not say how many tokens it counted.');
  return { body: Buffer.from(JSON.stringify(call.protocol.encodeCount(tokens))) };
}

function receiveStream(delivery: Delivery, options: EncoderOptions, headers: Headers): Receiver {
  const { call, planned, reply } = delivery;
  const pipe: StreamPipe =
    planned.upstream === call.protocol
      ? createRelay(call.protocol, options)
      : createTranslation(planned, call.protocol, options);
  let silence: Deadline | undefined;

  function begin(): void {
    reply.head(200, answerHeaders(delivery, headers, call.protocol.streamType(options)));
    silence = watch(() => {
      reply.write(options.array ? '\n' : call.protocol.keepAlive);
      silence?.in(delivery.keepAlive);
    });
  }

  function write(outputs: (Buffer | string)[]): void {
    if (outputs.length === 0) return;
    if (!silence) begin();
    for (const output of outputs) reply.write(output);
    silence?.in(delivery.keepAlive);
  }

  return {
    head() {},
    data: (chunk) => write(pipe.push(chunk)),
    end() {
      write(pipe.end());
      if (!silence) throw new GatewayError('upstream_error', 'The upstream answered with an empty stream.');
      silence.cancel();
      reply.end();
      delivery.resolve({ status: 'complete', usage: pipe.usage() });
    },
    fail(error) {
      silence?.cancel();
      if (!silence) return delivery.reject(error);
      reply.end(call.protocol.encodeStreamError(error, call.requestId, options));
      delivery.resolve({ status: 'failed', usage: pipe.usage(), error });
    },
  };
}
