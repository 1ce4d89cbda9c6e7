/** Choice of an endpoint: by the request, by the configuration, by recent results of endpoints. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { HEADERS, PATHS, type ProtocolId, post, question, startTestGateway, type TestGateway } from './harness.ts';
import { type Behaviour, providerEntry, type Scripted, startScripted } from './routing-upstreams.ts';

const NAMES = ['cheap', 'dear', 'kept', 'able'] as const;

let upstreams: Record<string, Scripted>;
let gateway: TestGateway;
const clock = createManualClock(1_000_000);

before(async () => {
  upstreams = Object.fromEntries(
    await Promise.all(NAMES.map(async (name) => [name, await startScripted(name)] as const)),
  );
  const entry = (name: string, more = ''): string => providerEntry(upstreams[name] as Scripted, 'chat', more);
  gateway = await startTestGateway(
    `
providers:
  cheap: ${entry('cheap')}
  dear: ${entry('dear')}
  kept: ${entry('kept', ', api_keys: [key-1, key-2]')}
  able: ${providerEntry(upstreams.able as Scripted, 'messages')}
models:
  house/m:
    endpoints:
      - { provider: dear, model: m, pricing: { prompt: "0.00001", completion: "0.00003" }, data_policy: { zdr: true, training: false }, quantization: bf16 }
      - { provider: cheap, model: m, priority: 1, pricing: { prompt: "0.000001", completion: "0.000002" }, quantization: fp8 }
  house/spread:
    endpoints:
      - { provider: dear, model: m, weight: 3 }
      - { provider: cheap, model: m, weight: 1 }
  house/waiting:
    endpoints:
      - { provider: openai, model: gpt-5 }
      - { provider: cheap, model: m }
  house/keys: { endpoints: [{ provider: kept, model: m }] }
  house/able:
    endpoints:
      - { provider: cheap, model: m }
      - { provider: able, model: m, priority: 1 }
aliases: { claude-sonnet-4-6: house/m, gpt-4o: cheap/m }
default_model: cheap/m
`,
    { clock },
  );
});

after(async () => {
  await gateway.close();
  for (const upstream of Object.values(upstreams)) await upstream.close();
});

beforeEach(() => {
  clock.advance(3_600_000);
  for (const upstream of Object.values(upstreams)) Object.assign(upstream, { behaves: 'well', held: undefined });
});

interface Answer {
  status: number;
  json: Json;
  endpoint: string | null;
  headers: Headers;
}

interface Wish {
  model?: string;
  protocol?: ProtocolId;
  text?: string;
  more?: object;
  headers?: Record<string, string>;
}

async function send({ model = 'house/m', protocol = 'chat', text = 'hi', more, headers }: Wish): Promise<Answer> {
  const body = { ...question(protocol, model, text), ...more };
  const url = gateway.url + PATHS[protocol](model, false);
  const response = await post(url, body, { ...HEADERS[protocol], ...headers });
  const json = (await response.json()) as Json;
  return {
    status: response.status,
    json,
    endpoint: response.headers.get('x-polygate-endpoint'),
    headers: response.headers,
  };
}

const CHOICES: [provider: Json, endpoint: string][] = [
  [{}, 'dear/m'],
  [{ order: ['cheap'] }, 'cheap/m'],
  [{ order: ['cheap', 'dear'] }, 'cheap/m'],
  [{ only: ['cheap'] }, 'cheap/m'],
  [{ ignore: ['dear'] }, 'cheap/m'],
  [{ ignore: ['dear/bf16'] }, 'cheap/m'],
  [{ sort: 'price' }, 'cheap/m'],
  [{ routing: 'cost' }, 'cheap/m'],
  [{ type: 'cheap' }, 'cheap/m'],
  [{ routing: { type: 'order', providers: ['cheap/some_endpoint'] } }, 'cheap/m'],
  [{ max_price: { prompt: 2 } }, 'cheap/m'],
  [{ max_price: { completion: '30' } }, 'dear/m'],
  [{ zdr: true, sort: 'price' }, 'dear/m'],
  [{ data_collection: 'deny', sort: 'price' }, 'dear/m'],
  [{ quantizations: ['fp8'] }, 'cheap/m'],
];

describe('the request chooses', () => {
  for (const [provider, endpoint] of CHOICES) {
    test(JSON.stringify(provider), async () => {
      const headers = { 'x-polygate-provider': JSON.stringify(provider) };
      assert.equal((await send({ more: { provider } })).endpoint, endpoint);
      assert.equal((await send({ protocol: 'messages', more: { provider } })).endpoint, endpoint);
      for (const protocol of ['chat', 'messages', 'generate'] as const)
        assert.equal((await send({ protocol, headers })).endpoint, endpoint);
    });
  }

  const NAMED: [model: string, endpoint: string][] = [
    ['house/m:floor', 'cheap/m'],
    ['house/m:cheap', 'cheap/m'],
    ['claude-sonnet-4-6', 'dear/m'],
    ['claude-sonnet-4-6:floor', 'cheap/m'],
    ['gpt-4o', 'cheap/m'],
    ['auto', 'cheap/m'],
    ['house/waiting', 'cheap/m'],
  ];
  for (const [model, endpoint] of NAMED) {
    test(`model ${model}`, async () => {
      assert.equal((await send({ model })).endpoint, endpoint);
      assert.equal((await send({ model, protocol: 'messages' })).endpoint, endpoint);
    });
  }

  test('a suffix applies to the model that has it, in a list of models too', async () => {
    const failing = (...names: string[]) => {
      for (const name of names) Object.assign(upstreams[name] as Scripted, { behaves: 503 });
    };
    // Each in a conversation of its own, which is bound to no endpoint.
    const endpointFor = async (more: object) => (await send({ more, text: JSON.stringify(more) })).endpoint;
    failing('cheap');
    assert.equal(await endpointFor({ model: 'house/m:cheap', models: ['house/keys'] }), 'kept/m');
    assert.equal((await send({ model: 'house/m:cheap' })).status, 503, 'the other endpoint of the model is not tried');
    failing('able');
    assert.equal(await endpointFor({ model: 'able/m', models: ['house/m:dear', 'house/keys'] }), 'dear/m');
    Object.assign(upstreams.cheap as Scripted, { behaves: 'well' });
    clock.advance(3_600_000);
    assert.equal(await endpointFor({ model: 'able/m', models: ['house/m'] }), 'dear/m');
    assert.equal(await endpointFor({ model: 'able/m', models: ['house/m:floor'] }), 'cheap/m');
    assert.equal(await endpointFor({ model: 'able/m', models: ['house/m:cheap'] }), 'cheap/m');
    const { status, json } = await send({ model: 'house/m', more: { models: ['house/m:kept'] } });
    assert.deepEqual([status, json.error.param], [400, 'models']);
    assert.match(json.error.message, /"kept" does not serve the model "house\/m"; it is served by: dear, cheap/);
    const wrong = await send({ model: 'house/m:kept' });
    assert.deepEqual([wrong.status, wrong.json.error.param], [400, 'model']);
  });

  test('auto takes one of the models that are given', async () => {
    const config = { models: ['house/m', 'dear/m'], preference: 'cost' };
    const { endpoint, json } = await send({ model: 'auto', more: { model_routing_config: config } });
    assert.deepEqual([endpoint, json.model], ['cheap/m', 'house/m']);
    const listed = { available_models: ['dear/m', 'house/m'] };
    assert.equal((await send({ model: 'zenmux/auto', more: { model_routing_config: listed } })).endpoint, 'dear/m');
    const wrong = await send({ model: 'auto', more: { model_routing_config: { preference: 'best' } } });
    assert.deepEqual([wrong.status, wrong.json.error.param], [400, 'model_routing_config.preference']);
    for (const [count, status] of [
      [100, 200],
      [101, 400],
    ] as const) {
      const models = Array.from({ length: count }, () => 'dear/m');
      assert.equal((await send({ model: 'auto', more: { model_routing_config: { models } } })).status, status);
    }
  });

  test('without a model the default answers', async () => {
    const { endpoint } = await send({ more: { model: undefined } });
    assert.equal(endpoint, 'cheap/m');
    assert.equal(upstreams.cheap?.calls.at(-1)?.body.model, 'm');
  });

  test('options go to their provider and to no other', async () => {
    const provider = { options: { cheap: { extra: 1 }, dear: { other: 2 } }, order: ['cheap'] };
    await send({ more: { provider } });
    await send({ protocol: 'messages', more: { provider } });
    for (const { body } of upstreams.cheap?.calls.slice(-2) ?? []) {
      assert.deepEqual([body.extra, body.other], [1, undefined]);
    }
    for (const name of ['model', 'models', 'messages']) {
      const options = { dear: { [name]: 'x' } };
      const { status, json } = await send({ more: { provider: { options, order: ['dear'] } } });
      assert.deepEqual([status, json.error.param], [400, `provider.options.dear.${name}`]);
    }
  });
});

const REFUSED: [provider: Json, message: RegExp][] = [
  [{ only: ['kept'] }, /cheap\/m: it is not in only/],
  [{ max_price: { prompt: 0.1 } }, /dear\/m: it costs 10, and max_price\.prompt is 0\.1/],
  [{ quantizations: ['int4'] }, /its quantization is bf16, not one of int4/],
  [{ enforce_distillable_text: true }, /not known to be free for training/],
  [{ type: 'kept' }, /"kept" does not serve the model "house\/m"; it is served by: dear, cheap/],
  [{ nonsense: 1 }, /provider\.nonsense is not a known field; allowed: /],
];

describe('what cannot be had is refused', () => {
  for (const [provider, message] of REFUSED) {
    test(JSON.stringify(provider), async () => {
      for (const protocol of ['chat', 'messages', 'generate'] as const) {
        const headers = { 'x-polygate-provider': JSON.stringify(provider) };
        const { status, json, headers: answered } = await send({ protocol, headers });
        assert.equal(status, 400);
        assert.match(json.error.message, message);
        assert.equal(answered.get('x-polygate-attempts'), '0');
      }
    });
  }

  test('require_parameters refuses what would be dropped', async () => {
    const provider = { require_parameters: true };
    const refused = await send({ protocol: 'messages', more: { top_k: 5, unheard_of: 1, provider } });
    assert.equal(refused.status, 400);
    assert.match(
      refused.json.error.message,
      /unheard_of, top_k cannot be sent to dear\/m, and provider\.require_parameters is set/,
    );
    assert.equal((await send({ protocol: 'messages', more: { unheard_of: 1 } })).status, 200);
    assert.equal((await send({ protocol: 'messages', more: { provider } })).status, 200);
  });
});

describe('weights and conversations', () => {
  test('conversations are spread by weight, and each stays where it is', async () => {
    const places = new Map<string, string | null>();
    for (let index = 0; index < 60; index++) {
      const text = `conversation ${index}`;
      places.set(text, (await send({ model: 'house/spread', text })).endpoint);
    }
    const dear = [...places.values()].filter((place) => place === 'dear/m').length;
    assert.ok(dear > 30 && dear < 58, `${dear} of 60`);
    for (const [text, place] of places) assert.equal((await send({ model: 'house/spread', text })).endpoint, place);
  });

  test('a conversation that had to move stays where it moved to', async () => {
    const { dear } = upstreams;
    assert.ok(dear);
    dear.behaves = 500;
    assert.equal((await send({ text: 'moving' })).endpoint, 'cheap/m');
    dear.behaves = 'well';
    assert.equal((await send({ text: 'moving' })).endpoint, 'cheap/m');
    clock.advance(60_000);
    assert.equal((await send({ text: 'moving' })).endpoint, 'cheap/m');
    assert.equal((await send({ text: 'another' })).endpoint, 'dear/m');
    clock.advance(11 * 60_000);
    assert.equal((await send({ text: 'moving' })).endpoint, 'dear/m');
  });

  test('an explicit order stands above that', async () => {
    assert.equal((await send({ text: 'ordered', more: { provider: { order: ['cheap'] } } })).endpoint, 'cheap/m');
    assert.equal((await send({ text: 'ordered', more: { provider: { order: ['dear'] } } })).endpoint, 'dear/m');
  });

  test('two keys of a provider are two endpoints', async () => {
    const { kept } = upstreams;
    assert.ok(kept);
    const used = new Set<string | undefined>();
    for (let index = 0; index < 20; index++) {
      await send({ model: 'house/keys', text: `keys ${index}` });
      used.add(kept.calls.at(-1)?.headers.authorization);
    }
    assert.deepEqual([...used].toSorted(), ['Bearer key-1', 'Bearer key-2']);
    kept.behaves = ({ headers }) => (headers.authorization === 'Bearer key-1' ? 429 : 'well');
    for (let index = 0; index < 6; index++) {
      const { status, endpoint } = await send({ model: 'kept/m', text: `keys ${index}` });
      assert.deepEqual([status, endpoint], [200, 'kept/m']);
    }
    const limited = kept.calls.filter(({ headers }) => headers.authorization === 'Bearer key-1').length;
    await send({ model: 'kept/m', text: 'keys 0' });
    assert.equal(kept.calls.filter(({ headers }) => headers.authorization === 'Bearer key-1').length, limited);
  });
});

describe('a conversation whose account is limited', () => {
  const HELD: [what: string, protocol: ProtocolId, turns: Json][] = [
    [
      'reasoning that only it can read',
      'chat',
      {
        role: 'assistant',
        content: 'Yes.',
        reasoning_details: [{ type: 'reasoning.encrypted', data: 'c2VjcmV0', format: 'openai-responses-v1' }],
      },
    ],
    [
      'a signature',
      'messages',
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm', signature: 'c2ln' }] },
    ],
    ['a file', 'chat', { role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }],
    ['nothing of it', 'chat', { role: 'assistant', content: 'Yes.' }],
  ];

  for (const [what, protocol, turn] of HELD) {
    test(`with ${what}`, async () => {
      const { kept } = upstreams;
      assert.ok(kept);
      const text = `held ${what}`;
      const keyOf = (): unknown => kept.calls.at(-1)?.headers.authorization;
      assert.equal((await send({ model: 'kept/m', protocol, text })).status, 200);
      const first = keyOf();
      kept.behaves = ({ headers }) => (headers.authorization === first ? 429 : 'well');
      const [said] = question(protocol, 'kept/m', text).messages;
      const next = await send({
        model: 'kept/m',
        protocol,
        more: { messages: [said, turn, { role: 'user', content: 'And?' }] },
      });
      const moved = what === 'nothing of it';
      assert.equal(next.status, moved ? 200 : 429);
      assert.equal(keyOf() !== first, moved);
    });
  }
});

describe('health', () => {
  const both = { more: { provider: { order: ['dear'] } } };

  test('an endpoint that is limited rests as long as it says, and comes back by one probe', async () => {
    const { dear } = upstreams;
    assert.ok(dear);
    dear.behaves = { status: 429, headers: { 'retry-after': '60' } };
    assert.equal((await send(both)).headers.get('x-polygate-attempts'), '2');
    const calls = dear.calls.length;
    clock.advance(59_000);
    assert.equal((await send(both)).headers.get('x-polygate-attempts'), '1');
    assert.equal(dear.calls.length, calls);

    clock.advance(1001);
    const opened = Promise.withResolvers<void>();
    Object.assign(dear, { behaves: 'well', held: opened.promise });
    const probe = send({ ...both, text: 'probe' });
    while (dear.calls.length === calls) await new Promise(setImmediate);
    assert.equal((await send({ ...both, text: 'meanwhile' })).endpoint, 'cheap/m');
    assert.equal(dear.calls.length, calls + 1);
    opened.resolve();
    assert.equal((await probe).endpoint, 'dear/m');
    assert.equal((await send({ ...both, text: 'afterwards' })).endpoint, 'dear/m');
  });

  test('a probe that streams its answer keeps nobody waiting for its end', async () => {
    const { dear } = upstreams;
    assert.ok(dear);
    dear.behaves = { status: 429, headers: { 'retry-after': '60' } };
    await send(both);
    clock.advance(60_001);
    dear.behaves = 'begins';
    const body = { ...question('chat', 'house/m', 'probe', true), ...both.more };
    const probe = await post(`${gateway.url}/v1/chat/completions`, body, HEADERS.chat);
    assert.equal(probe.headers.get('x-polygate-endpoint'), 'dear/m');
    dear.behaves = 'well';
    assert.equal((await send({ ...both, text: 'meanwhile' })).endpoint, 'dear/m');
    await probe.body?.cancel();
  });

  test('one that fails three times rests, and longer after a probe that fails', async () => {
    const { dear } = upstreams;
    assert.ok(dear);
    dear.behaves = 500;
    for (let count = 0; count < 3; count++) await send(both);
    const calls = dear.calls.length;
    await send(both);
    assert.equal(dear.calls.length, calls);
    clock.advance(10_001);
    await send(both);
    assert.equal(dear.calls.length, calls + 1);
    clock.advance(10_001);
    await send(both);
    assert.equal(dear.calls.length, calls + 1);
    clock.advance(10_001);
    dear.behaves = 'well';
    assert.equal((await send(both)).endpoint, 'dear/m');
  });

  test('one that failed lately comes last for half a minute', async () => {
    const { dear } = upstreams;
    assert.ok(dear);
    dear.behaves = 500;
    await send({ text: 'first' });
    dear.behaves = 'well';
    assert.equal((await send({ text: 'second' })).endpoint, 'cheap/m');
    clock.advance(30_001);
    assert.equal((await send({ text: 'third' })).endpoint, 'dear/m');
  });

  for (const sort of ['latency', 'throughput']) {
    test(`of requests at once by ${sort}, one measures an endpoint of which nothing is known`, async () => {
      const { dear, cheap } = upstreams;
      assert.ok(dear && cheap);
      const by = (text: string) => send({ text: `${sort} ${text}`, more: { provider: { sort } } });
      await send({ text: `${sort} measured`, more: { provider: { order: ['cheap'] } } });
      const opened = Promise.withResolvers<void>();
      const count = () => dear.calls.length + cheap.calls.length;
      const calls = count();
      dear.held = opened.promise;
      const first = by('first');
      while (count() === calls) await new Promise(setImmediate);
      const others = [1, 2, 3].map((index) => by(`meanwhile ${index}`));
      while (count() < calls + 4) await new Promise(setImmediate);
      opened.resolve();
      const endpoints = (await Promise.all([first, ...others])).map(({ endpoint }) => endpoint);
      assert.deepEqual(endpoints, ['dear/m', 'cheap/m', 'cheap/m', 'cheap/m']);
    });
  }

  test('where all rest the best is asked all the same', async () => {
    const { cheap } = upstreams;
    assert.ok(cheap);
    cheap.behaves = { status: 429, headers: { 'retry-after': '60' } };
    assert.equal((await send({ model: 'cheap/m' })).status, 429);
    assert.equal((await send({ model: 'cheap/m' })).status, 429);
    cheap.behaves = 'well';
    assert.equal((await send({ model: 'cheap/m' })).status, 200);
  });

  test('where all that rest are those that can serve the request, the best of them is asked', async () => {
    const { able } = upstreams;
    assert.ok(able);
    able.behaves = { status: 429, headers: { 'retry-after': '60' } };
    const wish: Wish = {
      model: 'house/able',
      protocol: 'messages',
      more: { top_k: 5, provider: { require_parameters: true } },
    };
    assert.equal((await send(wish)).status, 429);
    const again = await send(wish);
    assert.equal(again.status, 429, JSON.stringify(again.json));
    able.behaves = 'well';
    const answered = await send(wish);
    assert.equal(answered.endpoint, 'able/m');
    assert.equal(answered.headers.get('x-polygate-attempts'), '1');
  });

  describe('an account that is refused', () => {
    const file = (id: string) => [{ role: 'user', content: [{ type: 'file', file: { file_id: id } }] }];
    const refuse = (behaves: Behaviour) => {
      assert.ok(upstreams.dear);
      upstreams.dear.behaves = behaves;
    };

    for (const status of [401, 402]) {
      test(`rests with ${status}, with all of its models`, async () => {
        refuse(status);
        assert.equal((await send(both)).status, 502);
        refuse('well');
        assert.equal((await send({ ...both, text: 'next' })).endpoint, 'cheap/m');
        clock.advance(300_001);
        assert.equal((await send({ ...both, text: 'later' })).endpoint, 'dear/m');
      });
    }

    test('does not rest where a client names a file that is not its own', async () => {
      refuse(403);
      assert.equal((await send({ ...both, more: { ...both.more, messages: file('file-of-others') } })).status, 502);
      refuse('well');
      assert.equal((await send({ ...both, text: 'next' })).endpoint, 'dear/m');
      refuse(401);
      assert.equal((await send({ ...both, more: { ...both.more, messages: file('file-1') } })).status, 502);
      refuse('well');
      assert.equal((await send({ ...both, text: 'third' })).endpoint, 'cheap/m');
    });

    for (const code of ['model_not_found', undefined]) {
      test(`does not rest with 403 (${code ?? 'no code'}); the endpoint does, at once`, async () => {
        refuse({ status: 403, body: { error: { message: 'No access to model m.', code } } });
        assert.equal((await send(both)).status, 502);
        refuse('well');
        assert.equal((await send({ ...both, text: 'next' })).endpoint, 'cheap/m');
        clock.advance(10_001);
        assert.equal((await send({ ...both, text: 'later' })).endpoint, 'dear/m');
      });
    }
  });

  test('an endpoint that says the request is wrong is well', async () => {
    const { dear } = upstreams;
    assert.ok(dear);
    dear.behaves = 400;
    for (let count = 0; count < 4; count++) assert.equal((await send(both)).endpoint, 'dear/m');
  });
});

describe('the catalog', () => {
  for (const [path, id] of [
    ['/v1/models/house/m', 'house/m'],
    ['/v1/models/cheap/m', 'cheap/m'],
    ['/anthropic/v1/models/house/m', 'house/m'],
  ] as const) {
    test(path, async () => {
      const response = await fetch(gateway.url + path);
      assert.equal(((await response.json()) as Json).id, id);
    });
  }
});
