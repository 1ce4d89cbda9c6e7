/** An upstream's answer in one piece: collected, then relayed, translated, or told as an error. */

import { createByteCollector } from '../../core/byte-collector.ts';
import { type GatewayError, toGatewayError } from '../../core/errors.ts';
import { readAnswerJson } from '../../core/json/answer.ts';
import type { Json } from '../../core/json/json.ts';
import type { UpstreamReceiver } from '../../transport/upstream-client.ts';
import { handlerOf } from '../operations/index.ts';
import { hold } from './answer-budget.ts';
import { answerHeaders, costHeader, type ResponseContext, type UpstreamHeaders, unshownHeaders } from './context.ts';
import { checkAnswer, errorOf } from './whole.ts';

export function receiveWhole(delivery: ResponseContext, headers: UpstreamHeaders): UpstreamReceiver {
  const { call, planned, reply, options, share } = delivery;
  const collector = createByteCollector();
  let over = false;

  function fail(error: GatewayError): void {
    if (over) return;
    over = true;
    delivery.reject(error);
  }

  /** A large answer is parsed while others have their turn: meanwhile the client may have left. */
  async function answerLater(bytes: Buffer, reading: Promise<Json>): Promise<void> {
    try {
      const json = await reading;
      if (!over) answer(bytes, json);
    } catch (error) {
      fail(toGatewayError(error));
    }
  }

  function answer(bytes: Buffer, json: Json): void {
    checkAnswer(json, planned.upstream);
    const answered = handlerOf(call.operation).readWhole({ bytes, json }, delivery);
    over = true;
    if (!answered) return;
    const type = call.stream ? call.protocol.operations.complete.streamType(options) : 'application/json';
    const { body, usage, facts } = answered;
    const head = {
      ...answerHeaders(delivery, headers, type),
      ...(call.operation.name === 'complete' && unshownHeaders(delivery, planned.dropped)),
      ...costHeader(delivery, { usage, finish: facts?.finish }),
      'content-length': String(body.length),
    };
    delivery.resolve({
      ...{ status: 'complete', usage, facts },
      release() {
        reply.head(200, head);
        reply.end(body);
      },
    });
  }

  return {
    head() {},
    data(chunk) {
      collector.add(chunk);
      hold(share, collector.size);
    },
    end() {
      const bytes = collector.take();
      const json = readAnswerJson(bytes);
      if (json instanceof Promise) void answerLater(bytes, json);
      else answer(bytes, json);
    },
    fail,
  };
}

/** The words of an error are short; a page of HTML may be longer. */
const MAX_ERROR_BYTES = 256 * 1024;

interface Refusal {
  status: number;
  headers: UpstreamHeaders;
  /** Hears what the upstream's words mean. */
  tell(error: GatewayError): void;
}

/** An error answer; one that breaks off is still that error, and of one that is too long the beginning counts. */
export function receiveRefusal(delivery: ResponseContext, { status, headers, tell }: Refusal): UpstreamReceiver {
  const { call, planned, abortUpstream } = delivery;
  const collector = createByteCollector();

  const relayed = planned.upstream === call.protocol;
  const { platform } = delivery.endpoint.provider;
  const finish = (): void => tell(errorOf({ status, headers, bytes: collector.take(), relayed, platform }, planned));

  return {
    head() {},
    data(chunk) {
      collector.add(chunk);
      if (collector.size <= MAX_ERROR_BYTES) return;
      abortUpstream();
      finish();
    },
    end: finish,
    fail: finish,
  };
}
