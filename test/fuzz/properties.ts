/** Properties of every codec for any input. Each check throws an assertion error. */

import assert from 'node:assert/strict';
import { Cancellation } from '../../src/core/cancellation.ts';
import type { OpenPart } from '../../src/core/chat.ts';
import type { GatewayError } from '../../src/core/errors.ts';
import { readBody } from '../../src/core/json/body.ts';
import { copyJson } from '../../src/core/json/copy.ts';
import { isObject, type Json } from '../../src/core/json/json.ts';
import type { ModelRules } from '../../src/core/model.ts';
import type { EncoderOptions } from '../../src/core/operation.ts';
import type { Protocol } from '../../src/core/protocol.ts';
import { plan } from '../../src/inference/request/plan.ts';
import { encoderOptions } from '../../src/inference/response/encoder-options.ts';
import { createStateMemory } from '../../src/inference/state/memory.ts';
import { countByEstimate } from '../../src/inference/tokens/expected-usage.ts';
import type { Endpoint } from '../../src/routing/endpoint.ts';
import { checkStream } from '../validators/index.ts';
import { type Answer, type Asked, assertMeant, callOf, deliver, OWNER } from './delivery.ts';

/** Milliseconds of the thread's own time that one case may take. */
const LONGEST = 1000;

const BORN_WITH = [Object.prototype, Array.prototype, String.prototype, Function.prototype] as const;
const ownNames = (): string => BORN_WITH.map((prototype) => Reflect.ownKeys(prototype).length).join();
const NAMES_AT_BIRTH = ownNames();

/** Runs work that may fail in the ways that are meant: within its time, leaving the language as it was. */
export async function bounded(work: () => unknown): Promise<void> {
  const start = process.threadCpuUsage();
  try {
    await work();
  } catch (error) {
    assertMeant(error);
  }
  const { user, system } = process.threadCpuUsage(start);
  assert.ok((user + system) / 1000 < LONGEST, `took ${Math.round((user + system) / 1000)} ms`);
  assert.equal(ownNames(), NAMES_AT_BIRTH, 'a prototype was changed');
}

/** Models of very different habits. */
export const RULES: readonly ModelRules[] = [
  {},
  { reasoning: 'budget', budget: { min: 128, max: 1000 }, sampling: 'always', inputModalities: ['text'] },
  {
    reasoning: 'none',
    schema: false,
    resultMedia: false,
    prefill: true,
    cacheMarks: 'cache_control',
    forcedChoice: true,
  },
  { reasoning: 'always', tokenField: 'max_tokens', systemRole: 'developer', midSystem: true, maxOutput: 500 },
];

const cancellation = new Cancellation();

/** State of calls that clients of the seeds may have lost. */
const memory = createStateMemory();
const LOST: OpenPart[] = [
  { type: 'reasoning', text: 'thought', opaque: { kind: 'signature', value: 'state', origin: 'upstream' } },
  { type: 'call', id: 'call_1', name: 'f', args: '{}', opaque: { kind: 'signature', value: 's', origin: 'upstream' } },
];
memory.remember(OWNER, 'upstream', LOST);

/** A client's bytes on their way to an endpoint. */
export function checkRequest(client: Protocol, bytes: Buffer, endpoints: readonly Endpoint[]): Promise<void> {
  return bounded(async () => {
    const body = await readBody(bytes);
    const text = JSON.stringify(body);
    for (const operation of [client.operations['count-tokens'], client.operations.complete]) {
      if (!operation) continue;
      let accepted = false;
      await bounded(() => {
        operation.check(body);
        accepted = true;
      });
      if (!accepted) continue;
      const call = { ...callOf(client, bytes, body), operation };
      for (const endpoint of endpoints) {
        if (operation.name === 'count-tokens' && !endpoint.dialect.countsTokens) continue;
        await bounded(async () => {
          const planned = await plan(call, endpoint, { prepare: async () => {}, memory, client: cancellation });
          assert.ok(
            isObject(JSON.parse(Buffer.concat([planned.body].flat()).toString('utf8'))),
            'the body for the upstream is no object',
          );
        });
      }
      for (const endpoint of endpoints) await bounded(() => countByEstimate(call, endpoint));
      await bounded(() => encoderOptions(call, endpoints[0] as Endpoint, { path: 'passthrough', now: () => 0 }));
    }
    assert.equal(JSON.stringify(body), text, "the client's body was changed");
    await bounded(() => client.operations.complete.state?.restore(copyJson(body), 'upstream'));
  });
}

/** Every ending is told to clients in words of their protocol. */
function assertTold(client: Protocol, error: GatewayError): void {
  const { status, body } = client.encodeError(error, 'req');
  assert.ok(status >= 400 && status <= 599 && isObject(body) && isObject(body.error), 'an error of no shape');
}

/** A streamed answer: valid in the client's protocol, whatever the upstream's was. */
export function checkDelivery(asked: Asked, answer: Answer): Promise<void> {
  return bounded(() => {
    const { text, error } = deliver(asked, answer);
    if (error) assertTold(asked.client, error);
    if (text === undefined) return;
    if (asked.stream && asked.client !== asked.upstream && !asked.array) {
      const { ending } = checkStream(asked.client.id, withoutMark(text));
      assert.equal(ending, error ? 'error' : 'complete');
    } else if (!asked.stream || asked.array) JSON.parse(text);
    if (asked.stream && asked.client === asked.upstream && error) {
      const words = withoutFacts(asked.client.operations.complete.encodeStreamError(error, 'req', encoderOf(asked)));
      assert.ok(withoutFacts(text).endsWith(words), 'the error is not the end');
      assert.equal(withoutFacts(text).split(words).length, 2, 'the error is told twice');
    }
  });
}

function encoderOf({ array = false, hideReasoning = false }: Asked): EncoderOptions {
  return { model: 'provider/model', created: 1, includeUsage: true, array, hideReasoning };
}

/** Without the number and the id that a failed response takes from its stream. */
function withoutFacts(text: string): string {
  return text.replace(
    /(?<=\{"type":"response\.failed",)"sequence_number":\d+,"response":\{"id":"(?:[^"\\]|\\.)*",/g,
    '',
  );
}

/** Generate content ends broken streams with a comment that has no line end. */
function withoutMark(text: string): string {
  return text.replace(/: incomplete$/, '');
}

/** A relay gives the same text however the upstream's bytes are cut. */
export function checkCuts(asked: Asked, bytes: Buffer, cuts: readonly number[]): Promise<void> {
  return bounded(() => {
    const type = 'text/event-stream';
    const whole = deliver(asked, { type, chunks: [bytes] });
    const pieces = deliver(asked, { type, chunks: piecesOf(bytes, cuts) });
    assert.equal(pieces.text ?? '', whole.text ?? '');
    assert.equal(pieces.error?.message, whole.error?.message);
  });
}

export function piecesOf(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const positions = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((one, two) => one - two);
  let start = 0;
  return positions.map((end) => {
    const piece = bytes.subarray(start, end);
    start = end;
    return piece;
  });
}

/** Everything that reads a body or frame of an upstream without translating it. */
export function checkReaders(upstream: Protocol, body: Json): Promise<void> {
  return bounded(() => {
    for (const status of [200, 400, 401, 429, 500, 529]) {
      const error = upstream.decodeError(status, body);
      assertMeant(error);
      assert.equal(typeof error.message, 'string');
    }
    const error = upstream.errorIn(body);
    if (error) assertMeant(error);
    assertCounts(upstream.operations.complete.usageOf(body));
    upstream.operations.complete.isEnd({ data: JSON.stringify(body) });
    upstream.operations.complete.streamUsage?.isExtra(body);
    const tokens = upstream.operations['count-tokens']?.decodeCount(body);
    assert.ok(tokens === undefined || Number.isSafeInteger(tokens), 'a count that is none');
  });
}

/** Usage is added up and charged: every count in it is one. */
function assertCounts(usage: Json): void {
  for (const [name, value] of Object.entries(usage ?? {})) {
    if (name === 'tier') assert.equal(typeof value, 'string');
    else if (name === 'reportedCost') assert.ok(Number.isFinite(value) && Number(value) >= 0, `a cost of ${value}`);
    else if (name !== 'estimated') assert.ok(Number.isSafeInteger(value) && Number(value) >= 0, `${name} is ${value}`);
  }
}
