/** A request and an answer through all that the gateway does with them, without its sockets. */

import assert from 'node:assert/strict';
import { createByteBudget } from '../../src/core/byte-budget.ts';
import type { Usage } from '../../src/core/chat.ts';
import { NO_CREDENTIAL } from '../../src/core/credential.ts';
import { GatewayError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json/json.ts';
import type { CatalogModel, ModelRules } from '../../src/core/model.ts';
import type { EncoderOptions } from '../../src/core/operation.ts';
import type { Protocol, UpstreamProtocol } from '../../src/core/protocol.ts';
import type { Provider } from '../../src/core/provider.ts';
import { toolKey } from '../../src/core/tools.ts';
import type { Plan } from '../../src/inference/request/planned-request.ts';
import { createResponseAssembler } from '../../src/inference/response/assembler.ts';
import type { ResponseContext } from '../../src/inference/response/context.ts';
import { respond } from '../../src/inference/response/respond.ts';
import { createStateMemory } from '../../src/inference/state/memory.ts';
import { createHeaderPlatform } from '../../src/providers/platform/headers.ts';
import type { Endpoint } from '../../src/routing/endpoint.ts';
import type { InferenceCall } from '../../src/routing/inference-call.ts';
import { createDeadlineTimer } from '../../src/transport/deadlines.ts';
import { createManualClock } from '../jobs/manual-clock.ts';

/** A thing the gateway would have to call a bug of its own. */
export function assertMeant(error: unknown): asserts error is GatewayError {
  if (!(error instanceof GatewayError)) throw error;
  if (error.code === 'internal_error') throw error.cause ?? error;
}

const MODEL: CatalogModel = {
  id: 'provider/model',
  provider: 'provider',
  upstreamId: 'upstream-model',
  canonicalSlug: 'model',
  name: 'Model',
  description: '',
  created: 0,
  ownedBy: 'owner',
  version: '1',
  contextLength: 1000,
  maxOutput: 1000,
  inputModalities: ['text'],
  outputModalities: ['text'],
  tokenizer: 'none',
  instructType: null,
  pricing: {},
  isModerated: false,
  supportedParameters: [],
  expirationDate: null,
  rules: {},
};

export function endpointAt(provider: Provider, rules: ModelRules): Endpoint {
  const [dialect] = provider.speaks(MODEL);
  assert.ok(dialect);
  return {
    provider,
    dialect,
    model: { ...MODEL, rules },
    credential: { id: 'none', number: 1, value: NO_CREDENTIAL, failed: () => false, cooldown: () => 0 },
    headers: {},
  };
}

export function bareProvider(protocol: string): Provider {
  const platform = createHeaderPlatform({ baseUrl: 'https://upstream.test' });
  return { id: 'upstream', speaks: () => [{ protocol }], platform, environment: [] };
}

export const OWNER = 'key';

export function callOf(protocol: Protocol, bytes: Buffer, body: Json): InferenceCall {
  const stream = body?.stream === true;
  const base = { requestId: 'req', owner: OWNER, array: false, headers: {} } as const;
  return { ...base, protocol, operation: protocol.operations.complete, stream, bytes, body };
}

export interface Answer {
  status?: number;
  type?: string;
  /** The bytes, in the cuts in which they arrive. */
  chunks: readonly Buffer[];
}

export interface Asked {
  client: Protocol;
  upstream: UpstreamProtocol;
  stream: boolean;
  array?: boolean;
  hideReasoning?: boolean;
  /** Translated answers that pause are continued, by the same answer once more. */
  continues?: boolean;
  /** The response budget in bytes, which is unlimited otherwise. */
  memory?: number;
}

interface Delivered {
  /** What the client got; undefined when nothing was begun. */
  text?: string;
  error?: GatewayError;
  /** Of an answer that failed before it began. */
  usage?: Partial<Usage>;
}

/** An upstream's bytes on their way to a client, through everything that the gateway does with them. */
export function deliver(asked: Asked, response: Answer): Delivered {
  const { client, upstream, stream, array = false, hideReasoning = false, memory = Infinity } = asked;
  const endpoint = endpointAt(bareProvider(upstream.id), {});
  const written: string[] = [];
  const ends: string[] = [];
  let begun = false;
  let rounds = 0;
  let again = false;
  let error: GatewayError | undefined;
  let usage: Partial<Usage> | undefined;
  const options: EncoderOptions = { model: 'provider/model', created: 1, includeUsage: true, array, hideReasoning };
  const planned: Plan = {
    path: upstream === client ? 'passthrough' : 'translated',
    upstream,
    operation: upstream.operations.complete,
    target: { origin: 'upstream', model: 'upstream-model', rules: {} },
    body: Buffer.from('{}'),
    dropped: [],
    request: { stream, turns: [], tools: [{ name: 'free', custom: {} }], dropped: [] },
    toolNames: new Map([[toolKey({ name: 'f' }), { name: 'renamed f' }]]),
    ...(asked.continues && upstream !== client && { continueWith: () => Buffer.from('{}') }),
  };
  let running = true;
  const delivery: ResponseContext = {
    call: { ...callOf(client, Buffer.from('{}'), {}), stream, array },
    ...{ endpoint, planned, options, memory: createStateMemory(10_000) },
    assembler: upstream === client ? undefined : createResponseAssembler(planned),
    keepAliveMs: 60_000,
    timer: createDeadlineTimer(createManualClock(0)),
    now: () => 0,
    routingHeaders: () => ({}),
    charge: () => undefined,
    abortUpstream: () => {
      running = false;
    },
    reply: {
      full: false,
      head: () => {
        assert.ok(!begun, 'two routingHeaders');
        begun = true;
      },
      write: (chunk) => {
        assert.ok(begun && !ends.includes('end'), 'something is written outside of the answer');
        written.push(String(chunk));
      },
      end: (chunk) => {
        ends.push('end');
        if (chunk !== undefined) written.push(String(chunk));
      },
      waiting: 0,
      onDrain: () => {},
      onClose: () => {},
      onDone: () => {},
    },
    share: createByteBudget(memory).open(OWNER),
    continueUpstream: () => {
      again = true;
    },
    resolve: (outcome) => {
      ends.push('resolve');
      error = outcome.error;
      outcome.finish();
    },
    reject: (thrown, generated) => {
      assert.ok(!begun, 'an answer that was begun is rejected');
      ends.push('reject');
      error = thrown;
      usage = generated;
    },
  };
  const receiver = respond(delivery);
  const exchange = {
    pause: () => {},
    resume: () => {},
    abort: () => {
      running = false;
    },
  };
  do {
    again = false;
    receiver.attach(exchange);
    receiver.head(response.status ?? 200, { 'content-type': response.type });
    for (const chunk of response.chunks) if (running) receiver.data(chunk);
    if (running) receiver.end();
  } while (again && rounds++ < 20);
  assert.deepEqual(ends, begun ? ['resolve', 'end'] : ['reject'], 'the answer does not end once');
  if (error) assertMeant(error);
  return { text: begun ? written.join('') : undefined, error, usage };
}
