/** Limits and budgets of keys, from the first request to the last one that is refused, in the words of each protocol. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../src/core/clock.ts';
import type { Store } from '../../src/store/store.ts';
import { WIRES } from '../faults/wires.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import {
  answerJson,
  createPermits,
  PATHS,
  type ProtocolId,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';
import { get, headersWith, hear, recordOf } from './usage-client.ts';

const IDS = Object.keys(PATHS) as ProtocolId[];
const keyOf = (name: string): string => `sk-test-limited-${name}-0123456789`;
const entry = (name: string, settings: string): string => `{ name: ${name}, key: ${keyOf(name)}, ${settings} }`;

let upstream: TestUpstream;
let gateway: TestGateway;
let release = Promise.withResolvers<void>();

before(async () => {
  upstream = await startUpstream(async (call, response) => {
    if (call.bytes.includes('wait')) await release.promise;
    if (call.bytes.includes('more than asked'))
      answerJson(response, { ...WIRES.chat.whole, usage: { prompt_tokens: 1, completion_tokens: 5, total_tokens: 6 } });
    else if (call.bytes.includes('fail')) answerJson(response, WIRES.chat.error('upstream'), 500);
    else answerJson(response, WIRES.chat.whole);
  });
  // 1 input and 2 output tokens: 2 USD an answer.
  const model = '{ id: m, pricing: { prompt: "0", completion: "1" } }';
  const keys = IDS.flatMap((id) => [
    entry(`rpm-${id}`, 'limits: { requests_per_minute: 2 }'),
    entry(`tpm-${id}`, 'limits: { tokens_per_minute: 150 }'),
    entry(`poor-${id}`, 'budgets: { day: "25" }'),
  ]);
  gateway = await startTestGateway(
    `providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [${model}, { id: n }] }
  b: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: other }] }`,
    {
      keys: [
        ...keys,
        entry('over', 'budgets: { total: "3" }'),
        entry('one', 'limits: { concurrent_requests: 1 }'),
        entry('model', 'model_limits: { "a/m": { requests_per_minute: 1 } }'),
        entry('fallback', 'model_limits: { "a/m": { requests_per_minute: 1 } }'),
        entry('reader', 'read_only: true'),
      ],
      clock: minuteClock(),
    },
  );
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

/** Minutes are long enough for a test, whenever it begins. */
function minuteClock() {
  const start = Date.now() - (Date.now() % 60_000) + 1000 - performance.now();
  const now = (): number => Math.floor(start + performance.now());
  return { ...systemClock, now };
}

const LIMITED = { chat: 'rate_limit_exceeded', messages: 'rate_limit_error', generate: 'RESOURCE_EXHAUSTED' };
const SPENT = { chat: 'insufficient_quota', messages: 'billing_error', generate: 'RESOURCE_EXHAUSTED' };

function nameIn(protocol: ProtocolId, text: string): string {
  const { error } = JSON.parse(text);
  return { chat: error.code, messages: error.type, generate: error.status }[protocol];
}

for (const protocol of IDS) {
  describe(protocol, () => {
    const asked = { protocol, model: 'a/m', text: 'Hi' };
    /** `messages` asks for 1000 tokens by itself. */
    const short = {
      chat: { max_tokens: 10 },
      messages: { max_tokens: 10 },
      generate: { generationConfig: { maxOutputTokens: 10 } },
    }[protocol];

    test('requests a minute', async () => {
      const key = keyOf(`rpm-${protocol}`);
      const left = [];
      for (let count = 0; count < 2; count++) {
        const { status, headers } = await hear(gateway.url, { ...asked, key });
        assert.equal(status, 200);
        assert.equal(headers['x-ratelimit-limit-requests'], '2');
        assert.match(headers['x-ratelimit-reset-requests'] ?? '', /^\d+s$/);
        left.push(headers['x-ratelimit-remaining-requests']);
      }
      assert.deepEqual(left, ['1', '0']);
      const refused = await hear(gateway.url, { ...asked, key });
      assert.equal(refused.status, 429);
      assert.equal(nameIn(protocol, refused.text), LIMITED[protocol]);
      assert.equal(refused.headers['x-ratelimit-remaining-requests'], '0');
      const wait = Number(refused.headers['retry-after']);
      assert.ok(wait > 0 && wait <= 60);
    });

    test('tokens a minute, of which what was not used comes back', async () => {
      const key = keyOf(`tpm-${protocol}`);
      const wish = { ...asked, key, more: short };
      for (let count = 0; count < 8; count++) {
        const { status, headers } = await hear(gateway.url, wish);
        assert.equal(status, 200);
        assert.equal(headers['x-ratelimit-limit-tokens'], '150');
      }
      const long = {
        chat: { max_tokens: 140 },
        messages: { max_tokens: 140 },
        generate: { generationConfig: { maxOutputTokens: 140 } },
      };
      const refused = await hear(gateway.url, { ...wish, more: long[protocol] });
      assert.equal(refused.status, 429);
      assert.match(refused.text, /150 tokens a minute/);
    });

    test('a budget: reserved by what is asked for, settled by what was used', async () => {
      const key = keyOf(`poor-${protocol}`);
      const wish = { ...asked, key, more: short };
      // 10 USD are reserved, 2 are used.
      for (let count = 0; count < 8; count++) {
        assert.equal((await hear(gateway.url, wish)).status, 200);
      }
      const refused = await hear(gateway.url, wish);
      assert.equal(refused.status, { chat: 402, messages: 402, generate: 429 }[protocol], refused.text);
      assert.equal(nameIn(protocol, refused.text), SPENT[protocol]);
      assert.match(refused.text, /25 USD a day; 9 USD are left/);
      assert.equal(refused.headers['x-should-retry'], 'false');
      const { data } = (await get(gateway.url, '/v1/key', key)).body;
      assert.deepEqual([data.limit, data.limit_remaining, data.limit_reset, data.usage_daily], [25, 9, 'daily', 16]);
    });
  });
}

test('credits are used by all that was spent, also beyond the budget', async () => {
  const key = keyOf('over');
  const asked = { protocol: 'chat', model: 'a/m', text: 'more than asked', key, more: { max_tokens: 2 } } as const;
  assert.equal((await hear(gateway.url, asked)).status, 200);
  const { data } = (await get(gateway.url, '/v1/credits', key)).body;
  assert.deepEqual(data, { total_credits: 3, total_usage: 5 });
  assert.equal((await get(gateway.url, '/v1/key', key)).body.data.usage, data.total_usage);
});

test('requests at once', async () => {
  const key = keyOf('one');
  release = Promise.withResolvers();
  const seen = upstream.calls.length;
  const first = hear(gateway.url, { protocol: 'chat', model: 'a/m', text: 'wait', key });
  while (upstream.calls.length === seen) await new Promise(setImmediate);
  assert.equal((await hear(gateway.url, { protocol: 'chat', model: 'a/m', text: 'Hi', key })).status, 429);
  release.resolve();
  assert.equal((await first).status, 200);
  assert.equal((await hear(gateway.url, { protocol: 'chat', model: 'a/m', text: 'fail', key })).status, 502);
  assert.equal((await hear(gateway.url, { protocol: 'chat', model: 'a/none', text: 'Hi', key })).status, 404);
  assert.equal((await hear(gateway.url, { protocol: 'chat', model: 'a/m', text: 'Hi', key })).status, 200);
});

test('a key reads its own limits, spelled as everywhere in the API', async () => {
  const { data } = (await get(gateway.url, '/v1/key', keyOf('rpm-chat'))).body;
  assert.deepEqual(data.limits, { requests_per_minute: 2 });
});

test('a limit of a model leaves the others alone', async () => {
  const key = keyOf('model');
  assert.equal((await hear(gateway.url, { protocol: 'chat', model: 'a/m', text: 'Hi', key })).status, 200);
  const refused = await hear(gateway.url, { protocol: 'messages', model: 'a/m', text: 'Hi', key });
  assert.equal(refused.status, 429);
  assert.match(refused.text, /This key with a\/m/);
  assert.equal((await hear(gateway.url, { protocol: 'chat', model: 'a/n', text: 'Hi', key })).status, 200);
});

test('a limit of a model holds where the model is reached as a fallback', async () => {
  const key = keyOf('fallback');
  const other = { protocol: 'chat', model: 'b/other', text: 'Hi', key } as const;
  const reached = { ...other, more: { models: ['a/m'], provider: { only: ['a'] } } };
  const answers = [await hear(gateway.url, reached), await hear(gateway.url, reached)];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 429],
    answers[1]?.text,
  );
  assert.match(answers[1]?.text ?? '', /This key with a\/m/);
  const passed = await hear(gateway.url, { ...other, more: { models: ['a/m'] } });
  assert.equal(passed.status, 200, 'the limit of a fallback does not refuse the model that is asked for');
  assert.equal(passed.headers['x-polygate-endpoint'], 'b/other');
});

test('headers stand on errors too', async () => {
  const key = keyOf('rpm-chat');
  const body = JSON.stringify({ model: 'a/m', messages: 'none' });
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: headersWith('chat', key),
    body,
  });
  assert.equal(response.status, 400);
  assert.equal(response.headers.get('x-ratelimit-limit-requests'), '2');
});

test('a key that may only look sees its use', async () => {
  const key = keyOf('reader');
  assert.equal((await hear(gateway.url, { protocol: 'chat', model: 'a/m', text: 'Hi', key })).status, 403);
  assert.equal((await get(gateway.url, '/v1/usage', key)).status, 200);
  assert.equal((await get(gateway.url, '/v1/key', key)).body.data.read_only, true);
});

test('limits change with the configuration', async () => {
  const { id } = await hear(gateway.url, { protocol: 'chat', model: 'a/n', text: 'Hi' });
  assert.equal((await recordOf(gateway.url, id)).total_cost, null);
  gateway.reload(
    `providers: { a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: n }] } }\nlimits: { requests_per_minute: 1 }`,
  );
  const { headers } = await hear(gateway.url, { protocol: 'chat', model: 'a/n', text: 'Hi' });
  assert.equal(headers['x-ratelimit-limit-requests'], '1');
});

test('what is forgotten of limits is deleted in parts, also while what expires does not follow the clock', async () => {
  const clock = createManualClock(Date.now());
  const removed: Record<string, number[]> = { forgetAllowances: [], pruneRefusedUsage: [] };
  let owner: Store | undefined;
  const gateway = await startTestGateway('', {
    clock,
    wrapStore(store) {
      owner = store;
      const call = (async (name: 'forgetAllowances', parameters: never) => {
        const result = await store.call(name, parameters);
        removed[name]?.push(result);
        return result;
      }) as Store['call'];
      return { ...store, call };
    },
  });
  const call = (owner as unknown as Store).call;
  const names = Array.from({ length: 4500 }, (_, index) => `s${index}`);
  const refusal = { now: 1, problem: 'odd', record: '{}' };
  const windowAt = clock.now() + 3_600_000;
  clock.set(clock.now() + 7_200_000);
  await Promise.all([
    ...names.map((name) => call('takeAllowance', { name, windowAt, limit: 9, want: 1, alreadyUsed: 0 })),
    ...names.map((id) => call('setAsideUsageRecord', { ...refusal, id })),
  ]);
  clock.advance(60_000);
  while ((removed.pruneRefusedUsage?.length ?? 0) < 3) await pause(5);
  assert.deepEqual(removed, { forgetAllowances: [2000, 2000, 500], pruneRefusedUsage: [2000, 2000, 500] });
  await gateway.close();
});

test('a gateway that was taken for dead takes the holds of its running requests anew, and none before its heartbeat', {
  timeout: 30_000,
}, async () => {
  const permits = createPermits();
  const slow = await startUpstream(async (_call, response) => {
    await permits.take();
    answerJson(response, WIRES.chat.whole);
  });
  const clock = createManualClock(Date.now());
  const calls: { operation: string; id: string; name: string }[] = [];
  let owner: Store | undefined;
  let missed = 0;
  const yaml = `providers: { a: { type: openai-compatible, base_url: "${slow.url}/v1", models: [{ id: m, pricing: { prompt: "0.01", completion: "0.01" } }] } }`;
  const wide = await startTestGateway(yaml, {
    clock,
    keys: [entry('held', 'budgets: { total: "10" }')],
    wrapStore(store) {
      owner = store;
      const call = ((name: 'heartbeat', parameters: never) => {
        if (['heartbeat', 'setHold'].includes(name))
          calls.push({ operation: name, ...(parameters as { id: string; name: string }) });
        return store.call(name, parameters);
      }) as Store['call'];
      return { ...store, call, now: () => store.now() + missed };
    },
  });
  const { call } = owner as unknown as Store;
  const ask = () =>
    hear(wide.url, { protocol: 'chat', model: 'a/m', text: 'Hi', key: keyOf('held'), more: { max_tokens: 100 } });
  const next = async (operation: string) => {
    for (;;) {
      const found = calls.shift();
      if (found?.operation === operation) return found;
      assert.equal(found, undefined, operation);
      await pause(5);
    }
  };
  const { id } = await next('heartbeat');
  const answers = [ask()];
  const { name } = await next('setHold');
  while (slow.calls.length < 1) await pause(5);
  const held = async () => {
    const { others } = await call('setHold', { name, instance: 'other', limit: 10n ** 13n, want: 0n });
    return others;
  };
  assert.equal(await held(), 10n ** 13n, 'one that is alone takes all');
  await call('removeInstance', { id });
  assert.equal(await held(), 0n);
  clock.advance(5000);
  await next('heartbeat');
  await next('setHold');
  while ((await held()) === 0n) await pause(5);
  const least = await held();
  assert.ok(least > 10n ** 12n && least < 2n * 10n ** 12n, String(least));
  missed = 40_000;
  answers.push(ask());
  await next('heartbeat');
  await next('setHold');
  for (const _ of answers) permits.give();
  assert.deepEqual(
    (await Promise.all(answers)).map(({ status }) => status),
    [200, 200],
  );
  await wide.close();
  await slow.close();
});
