/** Report of a dispatch about a call: the one record that logs and accounts are made of. */

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { pino } from 'pino';
import { parseConfig } from '../../src/config/load.ts';
import { systemClock } from '../../src/core/clock.ts';
import { createProviderRegistry, type ProviderRegistry } from '../../src/gateway/provider-registry.ts';
import { type DispatchOptions, dispatch } from '../../src/inference/dispatch.ts';
import type { DispatchOutcome } from '../../src/inference/outcome.ts';
import type { Reply } from '../../src/inference/response/reply.ts';
import { createStateMemory } from '../../src/inference/state/memory.ts';
import { protocolOf } from '../../src/protocols/index.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { decideRouting } from '../../src/routing/decision.ts';
import type { InferenceCall } from '../../src/routing/inference-call.ts';
import { createRoutingState, type RoutingState, statisticsKey } from '../../src/routing/state.ts';
import { createDeadlineTimer } from '../../src/transport/deadlines.ts';
import { createUpstreamClient, type UpstreamClient } from '../../src/transport/upstream-client.ts';
import { type ProtocolId, question } from '../gateway/harness.ts';
import { providerEntry, type Scripted, startScripted } from '../gateway/routing-upstreams.ts';

let one: Scripted;
let two: Scripted;
let upstream: UpstreamClient;
let models: ProviderRegistry;
let state: RoutingState;
const timer = createDeadlineTimer(systemClock);

before(async () => {
  one = await startScripted('one');
  two = await startScripted('two');
  const endpoints = '[{ provider: one, model: m }, { provider: two, model: m, priority: 1 }]';
  const yaml = `providers: { one: ${providerEntry(one, 'chat')}, two: ${providerEntry(two, 'messages')} }\nmodels: { house/m: { endpoints: ${endpoints} } }`;
  const { providers, routing, server } = parseConfig(yaml, { environment: {}, known: providerTypes });
  upstream = createUpstreamClient(server.deadlines, { timer });
  const log = pino({ level: 'silent' });
  models = createProviderRegistry(providers, { upstream, log, userAgent: 'test', routes: routing });
});

after(async () => {
  models.close();
  await Promise.all([one.close(), two.close()]);
  await upstream.close();
});

afterEach(() => {
  one.behaves = 'well';
  two.behaves = 'well';
});

interface Sent {
  outcome: DispatchOutcome;
  written: string;
}

async function send(protocolId: ProtocolId, stream: boolean, leave?: (leaving: () => void) => void): Promise<Sent> {
  state = createRoutingState({ cooldown: () => 1000 });
  const protocol = protocolOf(protocolId);
  const body = question(protocolId, 'house/m', 'hi', stream);
  const bytes = Buffer.from(JSON.stringify(body));
  const base = { requestId: 'r', owner: 'o', array: false, headers: {} } as const;
  const call: InferenceCall = { ...base, protocol, operation: protocol.operations.complete, stream, bytes, body };
  let written = '';
  const reply: Reply = {
    full: false,
    head: (status) => {
      written += `${status} `;
    },
    write: (chunk) => {
      written += chunk;
    },
    onDrain() {},
    waiting: 0,
    onDone() {},
    end: (chunk = '') => {
      written += chunk;
    },
    onClose: (listener) => leave?.(listener),
  };
  const options: DispatchOptions = {
    ...{ upstream, timer, state, memory: createStateMemory(), keepAliveMs: 60_000, userAgent: 'test', totalMs: 10_000 },
    now: Date.now,
    prepare: async () => {},
  };
  const decision = await decideRouting(call, 'house/m', { models, state, allows: () => true });
  return { outcome: await dispatch(call, decision, reply, options), written };
}

for (const protocol of ['chat', 'messages', 'generate'] as const) {
  for (const stream of [false, true]) {
    describe(`${protocol}, ${stream ? 'streamed' : 'whole'}`, () => {
      test('a complete answer is recorded', async () => {
        const { outcome, written } = await send(protocol, stream);
        const { status, attempts, endpoint, path, usage, firstByte = -1, milliseconds, error } = outcome;
        assert.match(written, /^200 /);
        assert.deepEqual([status, endpoint?.provider.id, error], ['complete', 'one', undefined]);
        assert.equal(path, protocol === 'chat' ? 'passthrough' : 'translated');
        assert.deepEqual([usage?.input, usage?.output], [3, 5]);
        assert.ok(firstByte > 0 && firstByte <= milliseconds);
        assert.equal(attempts.length, 1);
        assert.ok((attempts[0]?.milliseconds ?? 0) >= (attempts[0]?.firstByte ?? 1));
        const measured = statisticsKey(`one/m#${endpoint?.credential.id}`, stream);
        assert.ok((state.statistics.latency(measured, 'p50') ?? 0) > 0);
        assert.ok((state.statistics.throughput(measured, 'p50') ?? 0) > 0);
      });

      test('an answer after a failed attempt is recorded', async () => {
        one.behaves = 503;
        const { outcome } = await send(protocol, stream);
        assert.deepEqual(
          [outcome.status, outcome.error, outcome.endpoint?.provider.id],
          ['complete', undefined, 'two'],
        );
        assert.deepEqual(
          outcome.attempts.map(({ endpoint, status, error }) => [endpoint, status, error]),
          [
            ['one/m', 503, 'overloaded'],
            ['two/m', 200, undefined],
          ],
        );
        assert.ok((outcome.firstByte ?? 0) > (outcome.attempts[1]?.firstByte ?? Number.POSITIVE_INFINITY));
        assert.equal(outcome.usage?.output, 5);
      });

      test('a call without a response is recorded', async () => {
        one.behaves = 'closes';
        two.behaves = 529;
        const { outcome, written } = await send(protocol, stream);
        assert.equal(written, '');
        assert.deepEqual([outcome.status, outcome.error?.code, outcome.usage], ['refused', 'overloaded', undefined]);
        assert.deepEqual(
          outcome.attempts.map(({ status, error }) => [status, error]),
          [
            [undefined, 'upstream_error'],
            [529, 'overloaded'],
          ],
        );
      });

      test('a client disconnect is recorded', async () => {
        one.behaves = 'never';
        const calls = one.calls.length;
        const { outcome, written } = await send(protocol, stream, async (leaving) => {
          while (one.calls.length === calls) await new Promise(setImmediate);
          leaving();
        });
        assert.deepEqual([outcome.status, outcome.error, written], ['client-closed', undefined, '']);
        assert.equal(outcome.attempts.length, 1);
      });
    });
  }

  test(`${protocol}: an answer that breaks off is partial`, async () => {
    one.behaves = 'breaks off';
    const { outcome, written } = await send(protocol, true);
    assert.match(written, /^200 .*error/s);
    assert.deepEqual([outcome.status, outcome.partial, outcome.error?.code], ['failed', true, 'upstream_error']);
    assert.ok((outcome.usage?.output ?? 0) > 0);
    assert.equal(outcome.attempts[0]?.error, 'upstream_error');
  });
}
