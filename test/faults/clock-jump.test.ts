/** The machine's clock is set while a gateway runs: by an hour, what lasts seconds does not last an hour; by years, nothing is deleted. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Cancellation } from '../../src/core/cancellation.ts';
import type { Json } from '../../src/core/json/json.ts';
import type { Store } from '../../src/store/store.ts';
import { followStream } from '../../src/stored-responses/follow.ts';
import { answerJson, KEY, startTestGateway, startUpstream } from '../gateway/harness.ts';
import { createVideoClock, eventually, videoClient } from '../gateway/video-client.ts';
import { createManualClock } from '../jobs/manual-clock.ts';

const HOUR = 3_600_000;
const YEAR = 8760 * HOUR;
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
const ANSWER = {
  ...{ id: 'made', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

test('looks at a task are not refused because they seem to lie in the future', async (context) => {
  const clock = createManualClock(Date.now());
  const gateway = await startTestGateway('', { clock });
  context.after(gateway.close);
  const body = JSON.stringify({ model: 'sandbox/video', prompt: 'hang', duration: 1, resolution: '480p' });
  const created = await fetch(`${gateway.url}/v1/videos`, { method: 'POST', headers: HEADERS, body });
  const { id } = (await created.json()) as { id: string };
  const look = () => fetch(`${gateway.url}/v1/videos/${id}`, { headers: HEADERS });
  for (let time = 0; time < 25; time++) await look();
  assert.equal((await look()).status, 429);
  clock.set(clock.now() - HOUR);
  clock.advance(1500);
  assert.equal((await look()).status, 200);
});

test('an endpoint that rests comes back after its cooldown', async (context) => {
  const clock = createManualClock(Date.now());
  let isBroken = true;
  const upstream = await startUpstream((_call, response) =>
    isBroken ? answerJson(response, { error: { message: 'Overloaded.' } }, 529) : answerJson(response, ANSWER),
  );
  const spare = await startUpstream((_call, response) => answerJson(response, ANSWER));
  const provider = (url: string) =>
    `{ type: openai-compatible, base_url: "${url}/v1", api_key: one, models: [{ id: m }] }`;
  const gateway = await startTestGateway(
    `routing: { cooldown: 500ms }
providers: { up: ${provider(upstream.url)}, spare: ${provider(spare.url)} }
models:
  house/m: { endpoints: [{ provider: up, model: m, priority: 0 }, { provider: spare, model: m, priority: 1 }] }`,
    { clock },
  );
  context.after(() => Promise.all([gateway.close(), upstream.close(), spare.close()]));
  const ask = async (content: string) => {
    const body = JSON.stringify({ model: 'house/m', messages: [{ role: 'user', content }] });
    const response = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers: HEADERS, body });
    await response.text();
    return response.headers.get('x-polygate-endpoint');
  };
  for (let time = 0; time < 4; time++) assert.equal(await ask(`Question ${time}`), 'spare/m');
  assert.equal(upstream.calls.length, 1, 'the endpoint does not rest');
  clock.set(clock.now() - HOUR);
  isBroken = false;
  clock.advance(1000);
  assert.equal(await ask('One more'), 'up/m');
});

test('a silent stream of a background response is kept alive', async () => {
  const clock = createManualClock(Date.now());
  const page = { status: 'in_progress', next: 0, isTruncated: false, batches: [] };
  const store = { call: async () => page } as never;
  const object = {
    hold: () => () => {},
    goWithoutRoom: () => undefined,
    response: async () => ({}),
    cancelled: () => ({}),
  };
  const options = { store, cipher: {} as never, clock, row: 'r', from: 0, ...object };
  const stream = followStream(options, page, new Cancellation());
  assert.equal((await stream.next()).value, ': ping\n\n', 'at once');
  const next = stream.next();
  let isOver = false;
  next.then(() => {
    isOver = true;
  });
  await turn();
  clock.set(clock.now() - HOUR);
  for (let waited = 0; waited < 20_000 && !isOver; waited += 100) {
    clock.advance(100);
    await turn();
  }
  assert.ok(isOver, 'nothing came in 20 seconds');
  assert.equal((await next).value, ': ping\n\n');
});

const MINUTE = 60_000;
const JUMPS: Record<string, { by: number; isUndone: boolean }> = {
  'is set back': { by: -3 * HOUR, isUndone: false },
  'is set back for seconds': { by: -10 * MINUTE, isUndone: true },
  'is set ahead for seconds': { by: 10 * MINUTE, isUndone: true },
};

for (const [jump, { by, isUndone }] of Object.entries(JUMPS)) {
  test(`a background response that waits for a conversation fails at its time where the clock ${jump}`, async (context) => {
    const clock = createVideoClock();
    let store: Store | undefined;
    let isReturned = false;
    const gateway = await startTestGateway('responses: { background_timeout: 2m }', {
      clock,
      wrapStore(opened) {
        store = opened;
        const call: typeof opened.call = async (name, values) => {
          const result = await opened.call(name, values);
          if (name === 'returnJob') isReturned = true;
          return result;
        };
        return { ...opened, call };
      },
    });
    // One that still waits does so by the clock.
    context.after(async () => {
      let isClosed = false;
      const closing = gateway.close().finally(() => {
        isClosed = true;
      });
      await eventually(gateway, () => isClosed);
      await closing;
    });
    const { send } = videoClient(gateway);
    const conversation = (await send('POST', '/v1/conversations', {})).body.id;
    const held = () => ({ id: conversation, holder: 'another', until: clock.now() + 20_000 });
    const hold = () => {
      const now = clock.now();
      return store?.call('holdConversation', { owner: 'config:test', now, expiresAt: now + HOUR, ...held() });
    };
    assert.equal(await hold(), 'held');
    const asked = { model: 'sandbox/echo', input: 'Hello', background: true, conversation };
    const acceptedAt = clock.monotonic();
    const { id } = (await send('POST', '/v1/responses', asked)).body;
    const renew = () => store?.call('renewConversationHold', held());
    const untilReturned = async () => {
      isReturned = false;
      await eventually(gateway, async () => {
        await renew();
        return isReturned;
      });
    };
    await untilReturned();
    clock.set(clock.now() + by);
    assert.equal(await hold(), 'held');
    if (isUndone) {
      await untilReturned();
      clock.set(clock.now() - by);
      assert.equal(await hold(), 'held');
    }
    let response: Json;
    const waited = () => clock.monotonic() - acceptedAt;
    await eventually(
      gateway,
      async () => {
        await renew();
        response = (await send('GET', `/v1/responses/${id}`)).body;
        return response.status !== 'queued' || waited() > 5 * MINUTE;
      },
      1_000,
    );
    assert.deepEqual(
      [response.status, response.error?.message],
      ['failed', 'The response could not begin within its time.'],
    );
    assert.ok(waited() >= 2 * MINUTE, 'it failed early');
  });
}

test('nothing is deleted, and no task expires, by a clock that is years ahead for minutes', async (context) => {
  const clock = createVideoClock();
  const calls: string[] = [];
  const gateway = await startTestGateway('', {
    clock,
    wrapStore: (store) => {
      const call: typeof store.call = async (name, values) => {
        const result = await store.call(name, values);
        calls.push(name);
        return result;
      };
      return { ...store, call };
    },
  });
  context.after(() => gateway.close());
  const client = videoClient(gateway);
  const made = await client.create();
  await client.until(made.id, 'completed');
  const open = await client.create({ prompt: 'hang' });
  await client.until(open.id, 'in_progress');
  const body = { model: 'sandbox/echo', input: 'Hello', store: true };
  const response = (await client.send('POST', '/v1/responses', body)).body;
  const usage = async () => (await client.send('GET', `/v1/generation?id=${made.id}`)).status;
  assert.equal(typeof response.id, 'string', JSON.stringify(response));

  const before = clock.now();
  clock.set(before + 5 * YEAR);
  calls.length = 0;
  const over = ['ownersOfExpiredConversations', 'pruneRefusedUsage', 'pruneLanes'];
  await eventually(gateway, () => over.every((name) => calls.includes(name)), 20_000);
  clock.set(before + HOUR);

  assert.equal((await client.send('GET', `/v1/responses/${response.id}`)).status, 200, 'the stored response');
  assert.equal((await client.send('GET', `/v1/videos/${made.id}/content`)).status, 200, 'the video');
  assert.notEqual((await client.send('GET', `/v1/videos/${open.id}`)).body.status, 'expired', 'the open task');
  assert.equal(await usage(), 200, 'the usage record');
});

test('a video that ends while the clock is near 1970 is kept once it is right', async (context) => {
  const clock = createVideoClock();
  const gateway = await startTestGateway('', { clock });
  context.after(() => gateway.close());
  const client = videoClient(gateway);
  const before = clock.now();
  const { id } = await client.create();
  clock.set(HOUR);
  const { completed_at: endedAt, expires_at: expiresAt } = await client.until(id, 'completed');
  assert.ok(endedAt >= Math.floor(before / 1000), String(endedAt));
  assert.ok(expiresAt >= Math.floor((before + 168 * HOUR) / 1000), String(expiresAt));
});

test('a job whose next run is written by the clock from before it is set back to 1970 goes on', async (context) => {
  const clock = createVideoClock();
  const isCorrected = Promise.withResolvers<void>();
  const isWriting = Promise.withResolvers<void>();
  const gateway = await startTestGateway('', {
    clock,
    wrapStore: (store) => {
      const call = async (name: string, values: Json) => {
        const isAcceptance = name === 'saveVideo' && values.attempt?.state === 'accepted';
        if (isAcceptance) {
          isWriting.resolve();
          await isCorrected.promise;
        }
        const result = await store.call(name as never, values as never);
        if (name === 'shiftJobs' && values.kind === 'video') isCorrected.resolve();
        return result;
      };
      return { ...store, call: call as typeof store.call };
    },
  });
  context.after(() => gateway.close());
  const client = videoClient(gateway);
  const { id } = await client.create();
  await eventually(gateway, async () => await Promise.race([isWriting.promise.then(() => true), turn(false)]));
  clock.set(HOUR);
  await client.until(id, 'completed');
});

test('what is stored before the clock is near 1970, and ends or is used then, is kept once it is right', async (context) => {
  const clock = createVideoClock();
  const before = clock.now();
  let isSet = false;
  const gateway = await startTestGateway('', {
    clock,
    wrapStore: (store) => {
      const call: typeof store.call = (name, values) => {
        if (name === 'startBackgroundResponse') {
          clock.set(HOUR);
          isSet = true;
        }
        return store.call(name, values);
      };
      return { ...store, call };
    },
  });
  context.after(() => gateway.close());
  const { send } = videoClient(gateway);
  const conversation = (await send('POST', '/v1/conversations', {})).body.id;
  const asked = { model: 'sandbox/echo', input: 'Hello', background: true, store: true };
  const response = (await send('POST', '/v1/responses', asked)).body.id;
  await eventually(gateway, async () => (await send('GET', `/v1/responses/${response}`)).body.status === 'completed');
  assert.ok(isSet && clock.now() < 2 * HOUR);
  const item = { type: 'message', role: 'user', content: 'Hello' };
  const added = await send('POST', `/v1/conversations/${conversation}/items`, { items: [item] });
  assert.equal(added.status, 200, JSON.stringify(added.body));
  clock.set(before + HOUR);
  assert.equal((await send('GET', `/v1/responses/${response}`)).status, 200, 'the response');
  assert.equal((await send('GET', `/v1/conversations/${conversation}`)).status, 200, 'the conversation');
});
