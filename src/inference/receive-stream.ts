/** An upstream's stream, written to the client as it comes, with signs of life in silence and a true ending. */

import { GatewayError } from '../core/errors.ts';
import { type Deadline, watch } from './deadlines.ts';
import { answerHeaders, type Delivery, rememberState, type UpstreamHeaders } from './delivery.ts';
import { createRelay, createTranslation, type Output, type StreamPipe } from './stream.ts';
import type { Receiver } from './upstream.ts';

export function receiveStream(delivery: Delivery, headers: UpstreamHeaders): Receiver {
  const { call, planned, reply, options } = delivery;
  const relayed = planned.upstream === call.protocol;
  const pipe: StreamPipe = relayed
    ? createRelay(call.protocol, options)
    : createTranslation({ plan: planned, client: call.protocol, options, rounds: delivery.rounds });
  let silence: Deadline | undefined;

  function begin(): Deadline {
    reply.head(200, answerHeaders(delivery, headers, call.protocol.streamType(options)));
    const deadline = watch(() => {
      if (!reply.full) reply.write(options.array ? '\n' : call.protocol.keepAlive);
      deadline.in(delivery.keepAlive);
    });
    return deadline;
  }

  function write(outputs: Output[]): void {
    if (outputs.length === 0) return;
    silence ??= begin();
    reply.write(
      outputs.length === 1 ? (outputs[0] as Output) : Buffer.concat(outputs.map((output) => Buffer.from(output))),
    );
    silence.in(delivery.keepAlive);
  }

  function end(): void {
    write(pipe.end());
    const more = relayed ? undefined : delivery.rounds.next();
    if (more) return delivery.sendAgain(more);
    if (!silence) throw new GatewayError('upstream_error', 'The upstream answered with an empty stream.');
    silence.cancel();
    reply.end();
    if (!relayed) rememberState(delivery);
    delivery.resolve({ status: 'complete', usage: pipe.usage() });
  }

  return {
    head() {},
    data: (chunk) => write(pipe.push(chunk)),
    end,
    fail(error) {
      if (silence && pipe.complete()) return end();
      silence?.cancel();
      if (!silence) return delivery.reject(error);
      reply.end(call.protocol.encodeStreamError(error, call.requestId, options));
      delivery.resolve({ status: 'failed', usage: pipe.usage(), error });
    },
  };
}
