/** Every answer says who gave it and how it came to that. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { ask, HEADERS, PATHS, post, question } from './harness.ts';
import { type Fleet, startFleet } from './routing-upstreams.ts';

let fleet: Fleet;

before(async () => {
  const endpoints = Array.from(
    { length: 60 },
    (_, index) => `{ provider: two, model: "many-${index}-${'x'.repeat(80)}" }`,
  );
  fleet = await startFleet({
    names: ['one', 'two'],
    more: `  house/many: { endpoints: [${endpoints.join(', ')}] }\n  "house/größe": { endpoints: [{ provider: one, model: m }] }\n`,
  });
});

after(() => fleet.close());

beforeEach(() => {
  fleet.pass(3_600_000);
  if (fleet.upstreams.one) fleet.upstreams.one.behaves = 'well';
});

const traced = { 'x-polygate-trace': 'true' };

function traceOf(response: Response): Json {
  const header = response.headers.get('x-polygate-trace') ?? assert.fail('no trace');
  assert.ok(header.length < 8000, `${header.length} characters`);
  return JSON.parse(header);
}

async function send(more: object, model = 'house/m', headers: object = traced): Promise<Response> {
  const body = { ...question('chat', model, 'hi'), ...more };
  return post(`${fleet.gateway.url}/v1/chat/completions`, body, { ...HEADERS.chat, ...headers });
}

describe('a trace', () => {
  test('comes only when it is asked for', async () => {
    for (const headers of [{}, { 'x-polygate-trace': 'false' }])
      assert.equal((await send({}, 'house/m', headers)).headers.get('x-polygate-trace'), null);
  });

  for (const protocol of ['chat', 'messages', 'generate'] as const) {
    for (const stream of [false, true]) {
      test(`tells every attempt to ${protocol}, ${stream ? 'streamed' : 'whole'}`, async () => {
        assert.ok(fleet.upstreams.one);
        fleet.upstreams.one.behaves = 429;
        const url = fleet.gateway.url + PATHS[protocol]('house/m', stream);
        const body = question(protocol, 'house/m', `${protocol} ${stream}`, stream);
        const response = await post(url, body, { ...HEADERS[protocol], ...traced });
        await response.text();
        const { requested, model, candidates, attempts } = traceOf(response);
        assert.deepEqual([requested, model], ['house/m', 'house/m']);
        assert.deepEqual(
          candidates.map(({ endpoint }: Json) => endpoint),
          ['one/m', 'two/m'],
        );
        const [first, second] = attempts;
        assert.deepEqual([first.endpoint, first.status, first.error], ['one/m', 429, 'rate_limit_exceeded']);
        assert.deepEqual([second.endpoint, second.status, second.error], ['two/m', 200, undefined]);
        assert.ok(Number.isInteger(first.milliseconds) && second.firstByte >= 0);
      });
    }
  }

  test('says why candidates are left out', async () => {
    const response = await send({ provider: { only: ['two'], sort: 'price' } });
    const { candidates, policy } = traceOf(response);
    assert.deepEqual(candidates[1], { endpoint: 'one/m', model: 'house/m', left_out: 'it is not in only' });
    assert.equal(policy.sort, 'price');
  });

  test('says so of a request that nobody can serve', async () => {
    const response = await send({ provider: { zdr: true } });
    assert.equal(response.status, 400);
    assert.deepEqual(
      traceOf(response).candidates.map(({ left_out }: Json) => left_out),
      Array(2).fill('it is not known to keep nothing (zdr)'),
    );
  });

  test('names dropped fields', async () => {
    const body = { ...question('messages', 'house/m', 'hi'), unheard_of: 1 };
    const url = `${fleet.gateway.url}/anthropic/v1/messages`;
    const response = await post(url, body, { ...HEADERS.messages, ...traced });
    assert.deepEqual(traceOf(response).attempts[0].dropped, ['unheard_of']);
  });

  test('names an endpoint once that turned out to be unable', async () => {
    const body = { ...question('messages', 'house/m', 'hi'), top_k: 3, provider: { require_parameters: true } };
    const url = `${fleet.gateway.url}/anthropic/v1/messages`;
    const response = await post(url, body, { ...HEADERS.messages, ...traced });
    const reason = (name: string) => `top_k cannot be sent to ${name}, and provider.require_parameters is set.`;
    assert.deepEqual(
      traceOf(response).candidates.map(({ endpoint, left_out }: Json) => [endpoint, left_out]),
      ['one/m', 'two/m'].map((name) => [name, reason(name)]),
    );
  });

  test('stays short, and says what it leaves out', async () => {
    const { candidates, omitted, attempts } = traceOf(await send({}, 'house/many'));
    assert.equal(attempts.length, 1);
    assert.equal(candidates.length + omitted, 60);
  });

  test('holds any name', async () => {
    const response = await send({}, 'house/größe');
    assert.equal(response.status, 200);
    assert.equal(traceOf(response).model, 'house/größe');
  });

  test('holds neither keys nor addresses', async () => {
    assert.ok(fleet.upstreams.one);
    fleet.upstreams.one.behaves = 500;
    const options = { two: { user: 'of-a-client' } };
    const header = (await send({ provider: { options } })).headers.get('x-polygate-trace') ?? '';
    assert.ok(!/key-of-it|127\.0\.0\.1|http|of-a-client/.test(header), header);
    assert.deepEqual(JSON.parse(header).policy.options, ['two']);
  });
});

describe('headers', () => {
  test('name the endpoint and the attempts, on refusals too', async () => {
    for (const protocol of ['chat', 'messages', 'generate'] as const) {
      const good = await ask(fleet.gateway, { protocol, model: 'one/m', text: 'hi' });
      assert.equal(good.headers.get('x-polygate-endpoint'), 'one/m');
      assert.equal(good.headers.get('x-polygate-attempts'), '1');
      const unknown = await ask(fleet.gateway, { protocol, model: 'one/nothing', text: 'hi' });
      assert.equal(unknown.status, 404);
      assert.equal(unknown.headers.get('x-polygate-endpoint'), null);
      assert.equal(unknown.headers.get('x-polygate-attempts'), '0');
    }
  });

  test('the log has them', async () => {
    await send({});
    const line = fleet.gateway.log.findLast(({ msg }) => msg === 'answered');
    assert.deepEqual([line.endpoint, line.attempts, line.model, line.status], ['one/m', 1, 'house/m', 'complete']);
  });
});
