/** An upstream's answer in one piece: collected, then relayed, translated, or told as an error. */

import { GatewayError } from '../core/errors.ts';
import { unfold } from '../core/fold.ts';
import { type Answer, encodeAnswer, errorOf, readAnswer, relayAnswer, translateAnswer } from './answer.ts';
import {
  answerHeaders,
  costHeader,
  type Delivery,
  learnState,
  rememberState,
  type UpstreamHeaders,
} from './delivery.ts';
import { streamWhole } from './stream.ts';
import type { Receiver } from './upstream.ts';

/** Larger answers are refused: a broken or hostile upstream must not fill the memory. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

export function receiveWhole(delivery: Delivery, headers: UpstreamHeaders): Receiver {
  const { call, reply, options } = delivery;
  const chunks: Buffer[] = [];
  let length = 0;

  return {
    head() {},
    data(chunk) {
      length += chunk.length;
      if (length > MAX_ANSWER_BYTES)
        throw new GatewayError('upstream_error', 'The upstream answered with more than the gateway accepts.');
      chunks.push(chunk);
    },
    end() {
      const answer = answerOf(Buffer.concat(chunks), delivery);
      if (!answer) return;
      const type = call.stream ? call.protocol.streamType(options) : 'application/json';
      const { body, usage, facts } = answer;
      const head = {
        ...answerHeaders(delivery, headers, type),
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
    },
    fail: (error) => delivery.reject(error),
  };
}

/** Undefined when the upstream only paused and was asked to go on. */
function answerOf(bytes: Buffer, delivery: Delivery): Answer | undefined {
  const { call, planned, options, rounds } = delivery;
  if (call.action === 'count') return countAnswer(bytes, delivery);
  if (planned.upstream === call.protocol && !call.stream) {
    const body = readAnswer(bytes, call.protocol);
    learnState(delivery, body);
    return relayAnswer(bytes, body, delivery);
  }
  for (const event of unfold(translateAnswer(bytes, planned))) rounds.join(event);
  const more = rounds.next();
  if (more) {
    delivery.sendAgain(more);
    return undefined;
  }
  rememberState(delivery);
  const response = rounds.response();
  const { usage } = response;
  const body = call.stream
    ? Buffer.from(streamWhole(response, call.protocol, options))
    : encodeAnswer(response, call.protocol, options);
  return { body, usage, facts: rounds.facts() };
}

function countAnswer(bytes: Buffer, { call, planned }: Delivery): Answer {
  const tokens = planned.upstream.decodeCount(readAnswer(bytes, planned.upstream));
  if (tokens === undefined)
    throw new GatewayError('upstream_error', 'The upstream did not say how many tokens it counted.');
  const relayed = planned.upstream === call.protocol;
  return { body: relayed ? bytes : Buffer.from(JSON.stringify(call.protocol.encodeCount(tokens))) };
}

const MAX_ERROR_BYTES = 1024 * 1024;

interface Refusal {
  status: number;
  headers: UpstreamHeaders;
  /** Hears what the upstream's words mean. */
  tell(error: GatewayError): void;
}

/** An error answer; one that breaks off is still that error. */
export function receiveRefusal({ call, planned }: Delivery, { status, headers, tell }: Refusal): Receiver {
  const chunks: Buffer[] = [];
  let length = 0;

  const finish = (): void =>
    tell(
      errorOf({ status, headers, bytes: Buffer.concat(chunks), relayed: planned.upstream === call.protocol }, planned),
    );

  return {
    head() {},
    data(chunk) {
      length += chunk.length;
      if (length <= MAX_ERROR_BYTES) chunks.push(chunk);
    },
    end: finish,
    fail: finish,
  };
}
