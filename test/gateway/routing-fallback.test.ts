/** Fallback: when an endpoint fails the next one is tried, while the client has seen nothing, and only where that can help. */

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { ask, HEADERS, PATHS, type ProtocolId, post, question, type TestUpstream } from './harness.ts';
import { type Behaviour, type Fleet, startFleet } from './routing-upstreams.ts';

const PROTOCOLS = ['chat', 'messages', 'generate'] as const;

const HELPS: Behaviour[] = [408, 429, 500, 502, 503, 529, 'error in 200', 'late error in 200', 'closes'];
const STREAM_HELPS: Behaviour[] = ['empty stream', 'stream without answer', 'breaks off at once'];
const HELPS_NOT: Behaviour[] = [400, 401, 402, 403, 404, 413, 422];

for (const client of PROTOCOLS) {
  for (const upstream of PROTOCOLS) {
    for (const stream of [false, true]) {
      describe(`${client} from ${upstream}, ${stream ? 'streamed' : 'whole'}`, () => {
        let fleet: Fleet;
        before(async () => {
          fleet = await startFleet({ names: ['one', 'two'], protocol: upstream });
        });
        after(() => fleet.close());
        afterEach(() => fleet.pass(3_600_000));

        async function asked(behaviour: Behaviour): Promise<Response> {
          assert.ok(fleet.upstreams.one);
          fleet.upstreams.one.behaves = behaviour;
          return ask(fleet.gateway, { protocol: client, model: 'house/m', text: 'hi', stream });
        }

        const more: Behaviour[] = stream ? STREAM_HELPS : upstream === 'chat' ? ['no answer in 200'] : [];
        for (const behaviour of [...HELPS, ...more]) {
          test(`after ${behaviour} the next answers`, async () => {
            const response = await asked(behaviour);
            const text = await response.text();
            assert.equal(response.status, 200, text);
            assert.match(text, /"two"/);
            assert.equal(response.headers.get('x-polygate-endpoint'), 'two/m');
            assert.equal(response.headers.get('x-polygate-attempts'), '2');
            assert.match(text, /"house\/m"/);
          });
        }

        for (const behaviour of HELPS_NOT) {
          test(`after ${behaviour} nothing else is asked`, async () => {
            const before = fleet.upstreams.two?.calls.length;
            const response = await asked(behaviour);
            await response.text();
            assert.notEqual(response.status, 200);
            assert.equal(fleet.upstreams.two?.calls.length, before);
            assert.equal(response.headers.get('x-polygate-endpoint'), 'one/m');
            assert.equal(response.headers.get('x-polygate-attempts'), '1');
          });
        }

        if (!stream) return;
        test('after the first byte the client is told, and nothing else is asked', async () => {
          const before = fleet.upstreams.two?.calls.length;
          const response = await asked('breaks off');
          assert.equal(response.status, 200);
          assert.match(await response.text(), /error/);
          assert.equal(fleet.upstreams.two?.calls.length, before);
          assert.equal(response.headers.get('x-polygate-endpoint'), 'one/m');
        });
      });
    }
  }
}

describe('several models', () => {
  let fleet: Fleet;
  before(async () => {
    fleet = await startFleet({
      names: ['one', 'two', 'three'],
      more: 'routing: { fallback_models: [three/m] }\n',
    });
  });
  after(() => fleet.close());
  afterEach(() => {
    fleet.pass(3_600_000);
    for (const upstream of Object.values(fleet.upstreams)) upstream.behaves = 'well';
  });

  async function send(protocol: ProtocolId, more: object, headers = {}, model = 'one/m'): Promise<Json> {
    const body = { ...question(protocol, model, 'hi'), ...more };
    const response = await post(fleet.gateway.url + PATHS[protocol](model, false), body, {
      ...HEADERS[protocol],
      ...headers,
    });
    const json = (await response.json()) as Json;
    return {
      status: response.status,
      headers: response.headers,
      json,
      endpoint: response.headers.get('x-polygate-endpoint'),
    };
  }

  function fail(...names: string[]): void {
    for (const name of names) if (fleet.upstreams[name]) fleet.upstreams[name].behaves = 500;
  }

  test('models of the request come after its own, and the response names the one that was used', async () => {
    fail('one');
    for (const protocol of ['chat', 'messages'] as const) {
      const { endpoint, json } = await send(protocol, { models: ['two/m'] });
      assert.equal(endpoint, 'two/m');
      assert.equal(json.model, 'two/m');
    }
    const headers = { 'x-polygate-provider': '{"models":["two/m"]}' };
    const { endpoint, json } = await send('generate', {}, headers);
    assert.deepEqual([endpoint, json.modelVersion], ['two/m', 'two/m']);
  });

  test('those of the configuration hold where the request names none', async () => {
    fail('one');
    assert.equal((await send('chat', {})).endpoint, 'three/m');
    assert.equal((await send('chat', { provider: { fallback: 'two/m' } })).endpoint, 'two/m');
    assert.equal((await send('chat', { provider: { allow_fallbacks: false } })).status, 502);
  });

  test('the first of models stands for a model that is not named', async () => {
    const body = { ...question('chat', 'x', 'hi'), model: undefined, models: ['two/m', 'one/m'] };
    const response = await post(`${fleet.gateway.url}/v1/chat/completions`, body, HEADERS.chat);
    assert.equal(((await response.json()) as Json).model, 'two/m');
    assert.equal(fleet.upstreams.two?.calls.at(-1)?.body.model, 'm');
  });

  test('a model that does not exist is named', async () => {
    const { status, json } = await send('chat', { models: ['nowhere/m'] });
    assert.deepEqual([status, json.error.param], [404, 'models']);
  });

  test('endpoints of a model come before the next model', async () => {
    fail('one', 'two');
    const { endpoint, headers } = await send('chat', {}, {}, 'house/m');
    assert.deepEqual([endpoint, headers.get('x-polygate-attempts')], ['three/m', '3']);
  });

  test('when all fail the client hears the last error, and the shortest wait of all', async () => {
    const { one, two, three } = fleet.upstreams;
    assert.ok(one && two && three);
    one.behaves = { status: 429, headers: { 'retry-after': '7' } };
    two.behaves = { status: 429, headers: { 'retry-after': '20' } };
    three.behaves = { status: 503, headers: { 'retry-after': '9' } };
    const { status, headers } = await send('chat', {}, {}, 'house/m');
    assert.equal(status, 503);
    assert.equal(headers.get('retry-after'), '7');
    assert.equal(headers.get('x-polygate-attempts'), '3');
    assert.equal(headers.get('x-polygate-endpoint'), 'three/m');
  });

  test('what the gateway is told never goes upstream', async () => {
    const header = { 'x-polygate-provider': '{"sort":"price"}' };
    for (const protocol of ['chat', 'messages'] as const) {
      for (const model of ['one/m', 'house/m']) {
        await send(protocol, { models: ['two/m'], provider: { order: ['one'] } }, header, model);
        const { body, headers } = fleet.upstreams.one?.calls.at(-1) ?? assert.fail();
        assert.deepEqual(
          [body.models, body.provider, headers['x-polygate-provider']],
          [undefined, undefined, undefined],
        );
      }
    }
  });
});

async function called(upstream: TestUpstream | undefined): Promise<void> {
  while (upstream?.calls.length === 0) await new Promise(setImmediate);
}

describe('limits of falling back', () => {
  test('one tenth of the requests may be tried again, beyond a small reserve', async () => {
    const fleet = await startFleet({ names: ['one', 'two'] });
    try {
      const { one } = fleet.upstreams;
      assert.ok(one);
      const opened = Promise.withResolvers<void>();
      Object.assign(one, { behaves: 500, held: opened.promise });
      const asked = Array.from({ length: 20 }, () =>
        ask(fleet.gateway, { protocol: 'chat', model: 'house/m', text: 'hi' }),
      );
      while (one.calls.length < 20) await new Promise(setImmediate);
      opened.resolve();
      const statuses = (await Promise.all(asked)).map(({ status }) => status);
      assert.equal(statuses.filter((status) => status === 200).length, 12);
      assert.equal(statuses.filter((status) => status === 502).length, 8);
    } finally {
      await fleet.close();
    }
  });

  test('an endpoint that has no room, and asks for no pause, is not asked by every request', async () => {
    const fleet = await startFleet({ names: ['one', 'two'] });
    try {
      const { one } = fleet.upstreams;
      assert.ok(one);
      one.behaves = { status: 429, headers: { 'retry-after': '0' } };
      for (let index = 0; index < 30; index++) {
        const { status } = await ask(fleet.gateway, { protocol: 'chat', model: 'house/m', text: `hi ${index}` });
        assert.equal(status, 200);
      }
      assert.equal(one.calls.length, 1);
    } finally {
      await fleet.close();
    }
  });

  test('all attempts together have the time of one', async () => {
    const server = 'server: { deadlines: { first_byte: 400ms, total: 600ms } }';
    const fleet = await startFleet({ names: ['one', 'two', 'three'], server });
    try {
      for (const upstream of Object.values(fleet.upstreams)) upstream.behaves = 'never';
      const asking = ask(fleet.gateway, { protocol: 'chat', model: 'house/m', text: 'hi' });
      await called(fleet.upstreams.one);
      fleet.pass(450);
      await called(fleet.upstreams.two);
      fleet.pass(200);
      const response = await asking;
      assert.equal(response.status, 504);
      assert.equal(response.headers.get('x-polygate-attempts'), '2');
      const { cause } = fleet.gateway.log.find(({ error }) => error === 'timeout') ?? {};
      assert.match(String(cause), /did not finish its response before the deadline/);
    } finally {
      await fleet.close();
    }
  });

  test('an endpoint that is silent for too long is left for the next', async () => {
    const server = 'server: { deadlines: { first_byte: 200ms } }';
    const fleet = await startFleet({ names: ['one', 'two'], server });
    try {
      assert.ok(fleet.upstreams.one);
      fleet.upstreams.one.behaves = 'never';
      const asking = ask(fleet.gateway, { protocol: 'chat', model: 'house/m', text: 'hi', stream: true });
      await called(fleet.upstreams.one);
      fleet.pass(250);
      const response = await asking;
      assert.match(await response.text(), /"two"/);
    } finally {
      await fleet.close();
    }
  });

  for (const protocol of PROTOCOLS) {
    test(`a stream of ${protocol} that ends with a refusal of the request is no fault of the endpoint`, async () => {
      const fleet = await startFleet({ names: ['one', 'two'], protocol });
      try {
        assert.ok(fleet.upstreams.one);
        fleet.upstreams.one.behaves = 'refuses midway';
        for (let index = 0; index < 5; index++) {
          const text = `hi ${index}`;
          const response = await ask(fleet.gateway, { protocol, model: 'house/m', text, stream: true });
          assert.match(await response.text(), /Filtered\./);
          assert.equal(response.headers.get('x-polygate-endpoint'), 'one/m');
        }
      } finally {
        await fleet.close();
      }
    });
  }

  test('an endpoint that answers until the time of all attempts is up, or gets the rest of it, is not at fault', async () => {
    const server = 'server: { deadlines: { first_byte: 400ms, idle: 10s, total: 600ms } }';
    const fleet = await startFleet({ names: ['one', 'two'], server });
    const { one, two } = fleet.upstreams;
    assert.ok(one && two);
    const asking = async (text: string): Promise<Response> =>
      ask(fleet.gateway, { protocol: 'chat', model: 'house/m', text, stream: true });
    try {
      one.behaves = 'begins';
      for (let index = 0; index < 4; index++) {
        const response = await asking(`long ${index}`);
        assert.equal(response.headers.get('x-polygate-endpoint'), 'one/m');
        fleet.pass(650);
        assert.match(await response.text(), /did not finish its response before the deadline/);
      }
      one.behaves = two.behaves = 'never';
      one.calls.length = 0;
      const silent = asking('silent');
      await called(one);
      fleet.pass(450);
      await called(two);
      fleet.pass(200);
      assert.equal((await silent).status, 504);
      one.behaves = two.behaves = 'well';
      assert.equal((await asking('after')).headers.get('x-polygate-endpoint'), 'two/m');
    } finally {
      await fleet.close();
    }
  });

  test('a client that leaves ends it', async () => {
    const fleet = await startFleet({ names: ['one', 'two'] });
    try {
      assert.ok(fleet.upstreams.one);
      fleet.upstreams.one.behaves = 'never';
      const leaving = new AbortController();
      const asking = ask(fleet.gateway, { protocol: 'chat', model: 'house/m', text: 'hi', signal: leaving.signal });
      await called(fleet.upstreams.one);
      leaving.abort();
      await assert.rejects(asking);
      assert.equal(await fleet.upstreams.one.calls[0]?.closed, 'aborted');
      while (!fleet.gateway.log.some(({ status }) => status === 'client-closed')) await new Promise(setImmediate);
      assert.equal(fleet.upstreams.two?.calls.length, 0);
    } finally {
      await fleet.close();
    }
  });
});
