/** Requests in a service tier are charged by the tier that serves them, and hold what that may cost, in every protocol. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { requestOf, WIRES, type WireId } from '../faults/wires.ts';
import { frame, responseOf } from '../protocols/responses-wire.ts';
import { createBackgroundClient } from './background-client.ts';
import {
  answerEvents,
  answerJson,
  HEADERS,
  KEY,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
  type UpstreamCall,
} from './harness.ts';
import { recordOf } from './usage-client.ts';

const TOKEN = 'admin-token-0123456789-0123456789';
const keyOf = (name: string): string => `sk-test-tiers-${name}-0123456789`;

const keyWith = (name: string, budget: string): string =>
  `{ name: ${name}, key: ${keyOf(name)}, budgets: { day: "${budget}" } }`;

let upstream: TestUpstream;
let gateway: TestGateway;

/** 100 tokens in and 10 out, in the tier and the region that the question names, `served:priority region:us`; the text of a stream or a body. */
function answerTo({ path, bytes, body }: UpstreamCall): string | Json {
  const [, tier] = /served:(\w*)/.exec(bytes.toString()) ?? [];
  const stream = path.includes('stream') || body.stream === true;
  const protocol = protocolOf(path);
  const wire = WIRES[protocol];
  switch (protocol) {
    case 'chat': {
      const cost = path.startsWith('/bills') && { cost: 0.42 };
      const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110, ...cost };
      const counted = { usage, ...(tier !== undefined && { service_tier: tier }) };
      const chunk = {
        id: 'chatcmpl-1',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [],
        ...counted,
      };
      const tail = wire.tail.replace('data: [DONE]', `data: ${JSON.stringify(chunk)}\n\n$&`);
      return stream ? wire.head + tail : { ...wire.whole, ...counted };
    }
    case 'messages': {
      const speed = tier === 'fast' ? { speed: 'fast', service_tier: 'standard' } : tier && { service_tier: tier };
      const [, region] = /region:(\w+)/.exec(bytes.toString()) ?? [];
      const usage = { input_tokens: 100, output_tokens: 10, ...speed, ...(region && { inference_geo: region }) };
      const head = wire.head.replace(/"usage":\{[^}]*\}/, `"usage":${JSON.stringify(usage)}`);
      return stream ? head + wire.tail.replace('"output_tokens":2', '"output_tokens":10') : { ...wire.whole, usage };
    }
    case 'generate': {
      const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 };
      const whole = { ...wire.whole, usageMetadata: { ...usageMetadata, ...(tier && { serviceTier: tier }) } };
      return stream ? `data: ${JSON.stringify(whole)}\n\n` : whole;
    }
    case 'responses': {
      const usage = { input_tokens: 100, output_tokens: 10, total_tokens: 110 };
      const { output } = wire.whole;
      const whole = responseOf({ status: 'completed', output, usage, service_tier: tier ?? 'auto' });
      const end = frame({ type: 'response.completed', sequence_number: 99, response: whole });
      return stream ? wire.head + wire.text('lo') + end : whole;
    }
  }
}

function protocolOf(path: string): WireId {
  if (path.includes('responses')) return 'responses';
  if (path.includes('messages')) return 'messages';
  return path.includes('enerateContent') ? 'generate' : 'chat';
}

const EMBEDDED = {
  chat: {
    ...{ object: 'list', model: 'm', usage: { prompt_tokens: 100, total_tokens: 100 } },
    data: [{ object: 'embedding', index: 0, embedding: [0.6, 0.8] }],
  },
  generate: { embeddings: [{ values: [0.6, 0.8] }] },
};

before(async () => {
  upstream = await startUpstream((call, response) => {
    if (call.path.includes('mbed'))
      return answerJson(response, EMBEDDED[call.path.includes('batch') ? 'generate' : 'chat']);
    const answer = answerTo(call);
    if (typeof answer === 'string') answerEvents(response, answer);
    else answerJson(response, answer);
  });
  const pricing = 'pricing: { prompt: "0.0001", completion: "0.001" }';
  const vectors = `{ id: vectors, ${pricing}, output_modalities: [embeddings] }`;
  const models = `models: [{ id: m, ${pricing} }, ${vectors}]`;
  const base = (path: string) => `base_url: "${upstream.url}${path}", api_key: k`;
  const chat = `models: [{ id: m, ${pricing}, rules: { protocols: [chat] } }, ${vectors}]`;
  gateway = await startTestGateway(
    `admin: { token: ${TOKEN}, port: 0 }
providers:
  chat: { type: openai, ${base('/v1')}, ${chat} }
  responses: { type: openai, ${base('/v1')}, models: [{ id: m, ${pricing}, rules: { protocols: [responses] } }] }
  messages: { type: anthropic, ${base('')}, ${models} }
  generate: { type: google, ${base('')}, ${models} }
  bills: { type: openrouter, ${base('/bills')}, ${models} }
  local: { type: openai-compatible, ${base('/v1')}, ${models} }
  tiered: { type: openai-compatible, ${base('/v1')}, models: [{ id: m, ${pricing}, service_tiers: { turbo: { prompt: "0.001", completion: "0.01" } } }, { id: alone, service_tiers: { turbo: { prompt: "0.001", completion: "0" } } }] }
models:
  house/m: { endpoints: [{ provider: local, model: m }, { provider: chat, model: m, priority: 1 }] }
  house/new: { endpoints: [{ provider: chat, model: unlisted, ${pricing} }] }`,
    {
      keys: [
        ...['spends', 'holds', 'regions', 'messages', 'options', 'untyped', 'names', 'spelled'].map((name) =>
          keyWith(name, '0.1'),
        ),
        keyWith('open', '3'),
      ],
    },
  );
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

interface Asking {
  client: WireId;
  model: string;
  served?: string;
  more?: Json;
  stream?: boolean;
  key?: string;
}

async function ask({ client, model, served, more, stream = false, key = KEY }: Asking): Promise<Response> {
  const { path, headers, body } = requestOf(client, {
    model,
    text: served === undefined ? 'Hi' : `served:${served}`,
    stream,
  });
  const keyed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.replace(KEY, key)]));
  const usage = client === 'chat' && stream && { stream_options: { include_usage: true } };
  return post(gateway.url + path, { ...body, ...usage, ...more }, keyed);
}

/** USD that the request cost, and the details that an operator reads. */
async function charged(asking: Asking): Promise<{ cost: number; charge: Json; text: string }> {
  const response = await ask(asking);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const id = String(response.headers.get('x-polygate-generation-id'));
  const { total_cost: cost, service_tier } = await recordOf(gateway.url, id);
  const details = await fetch(`${gateway.adminUrl}/admin/v1/requests/${id}`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  const { data }: Json = await details.json();
  assert.equal(service_tier, data.charge.service_tier, 'the holder of the key reads the same');
  return { cost, charge: data.charge, text };
}

/** 100 tokens in and 10 out, in the standard tier. */
const STANDARD = 0.02;

interface Tier {
  client: WireId;
  more: Json;
  tier: string;
  factor: number;
}

const TIERS: Tier[] = [
  { client: 'chat', more: { service_tier: 'priority' }, tier: 'priority', factor: 2 },
  { client: 'chat', more: { service_tier: 'flex' }, tier: 'flex', factor: 0.5 },
  { client: 'responses', more: { service_tier: 'priority' }, tier: 'priority', factor: 2 },
  { client: 'responses', more: { service_tier: 'flex' }, tier: 'flex', factor: 0.5 },
  { client: 'messages', more: { speed: 'fast' }, tier: 'fast', factor: 2 },
  { client: 'generate', more: { serviceTier: 'priority' }, tier: 'priority', factor: 1.8 },
  { client: 'generate', more: { service_tier: 'SERVICE_TIER_FLEX' }, tier: 'flex', factor: 0.5 },
];

for (const stream of [false, true]) {
  describe(stream ? 'a stream' : 'a whole answer', () => {
    for (const { client, more, tier, factor } of TIERS) {
      const asked = { client, model: `${client}/m`, more, stream };
      const cost = Number((STANDARD * factor).toFixed(6));

      test(`of ${client} in ${tier}: as reported, and as asked where nothing is reported`, async () => {
        const reported = await charged({ ...asked, served: tier });
        const silent = await charged(asked);
        assert.deepEqual([reported.cost, silent.cost], [cost, cost]);
        assert.deepEqual([reported.charge.service_tier, reported.charge.assumed], [tier, false]);
        const sum = reported.charge.lines.reduce((total: number, line: Json) => total + Number(line.cost), 0);
        assert.equal(Number(sum.toFixed(6)), cost, 'the lines are the cost');
      });

      test(`of ${client}, asked in ${tier} and served in the standard one`, async () => {
        const { cost, charge } = await charged({ ...asked, served: client === 'chat' ? 'default' : 'standard' });
        assert.deepEqual([cost, charge.service_tier], [STANDARD, null]);
      });

      test(`of ${client}, served in ${tier} without being asked, as a project’s own setting does`, async () => {
        assert.equal((await charged({ ...asked, more: {}, served: tier })).cost, cost);
      });
    }
  });
}

describe('within a region, which costs a tenth more in every tier', () => {
  const us = { inference_geo: 'us' };
  const inMessages = { client: 'messages', model: 'messages/m' } as const;
  const cases: [name: string, more: Json, served: string | undefined, cost: number, tier: string | null][] = [
    ['asked and reported', us, 'standard region:us', 0.022, 'regional'],
    ['asked, where nothing is reported', us, undefined, 0.022, 'regional'],
    ['asked, and served anywhere', us, 'standard region:global', STANDARD, null],
    ['as the workspace is set, without being asked', {}, 'standard region:us', 0.022, 'regional'],
    ['in fast mode', { ...us, speed: 'fast' }, 'fast region:us', 0.044, 'fast.regional'],
    [
      'asked in fast mode, and served in the standard tier',
      { ...us, speed: 'fast' },
      'standard region:us',
      0.022,
      'regional',
    ],
    ['anywhere', { inference_geo: 'global' }, undefined, STANDARD, null],
    ['an older model, which has no regions', {}, 'standard region:not_available', STANDARD, null],
  ];
  for (const stream of [false, true]) {
    for (const [name, more, served, cost, tier] of cases) {
      test(`${name}${stream ? ', streamed' : ''}`, async () => {
        const found = await charged({ ...inMessages, more, stream, ...(served !== undefined && { served }) });
        assert.deepEqual([found.cost, found.charge.service_tier, found.charge.assumed], [cost, tier, false]);
      });
    }
  }

  for (const stream of [false, true]) {
    test(`as the workspace is set, for a client of another protocol${stream ? ', streamed' : ''}`, async () => {
      const asked: Asking = { client: 'chat', model: 'messages/m', served: 'fast region:us', stream };
      const { cost, charge } = await charged(asked);
      assert.deepEqual([cost, charge.service_tier], [0.044, 'fast.regional']);
    });
  }

  test('by the options for a provider, beside the tier of the body', async () => {
    const provider = { options: { messages: us } };
    assert.equal((await charged({ client: 'chat', model: 'messages/m', more: { provider } })).cost, 0.022);
    const both = await charged({ ...inMessages, more: { provider, speed: 'fast' } });
    assert.deepEqual([both.cost, both.charge.service_tier], [0.044, 'fast.regional']);
  });

  test('a client cannot write the name that the gateway makes', async () => {
    for (const service_tier of ['flex.regional', 'regional']) {
      const { cost, charge } = await charged({ client: 'chat', model: 'chat/m', more: { service_tier } });
      assert.deepEqual([cost, charge.assumed], [0.04, true], 'the highest price, as of any unknown tier');
    }
  });

  test('a provider without prices of regions costs what it costs', async () => {
    const { cost, charge } = await charged({ client: 'messages', model: 'chat/m', more: { ...us, speed: 'fast' } });
    assert.deepEqual([cost, charge.service_tier, charge.assumed], [0.04, 'fast.regional', true]);
  });
});

describe('across protocols', () => {
  const pairs: [client: WireId, upstream: WireId, more: Json, factor: number][] = [
    ['messages', 'chat', { speed: 'fast' }, 2],
    ['generate', 'chat', { serviceTier: 'priority' }, 2],
    ['chat', 'responses', { service_tier: 'flex' }, 0.5],
    ['chat', 'generate', { service_tier: 'fast' }, 1.8],
    ['responses', 'generate', { service_tier: 'priority' }, 1.8],
    // Anthropic's priority tier is capacity that was bought before; its tokens have no other price.
    ['chat', 'messages', { service_tier: 'priority' }, 1],
  ];
  for (const [client, target, more, factor] of pairs) {
    test(`${client} to ${target}`, async () => {
      const { cost } = await charged({ client, model: `${target}/m`, more });
      assert.equal(cost, Number((STANDARD * factor).toFixed(6)));
    });
  }

  test('fast mode has the name of the client’s protocol', async () => {
    const provider = { options: { messages: { speed: 'fast' } } };
    const { cost, text } = await charged({ client: 'chat', model: 'messages/m', served: 'fast', more: { provider } });
    assert.deepEqual([cost, JSON.parse(text).service_tier], [0.04, 'priority']);
  });

  test('the answer shows the cost that is charged', async () => {
    const { text } = await charged({ client: 'chat', model: 'chat/m', more: { service_tier: 'priority' } });
    assert.equal(JSON.parse(text).usage.cost, 0.04);
  });
});

test('a background response is charged by its tier', async () => {
  const client = createBackgroundClient(() => gateway.url);
  const { body } = await client.create({ model: 'responses/m', input: 'served:priority', service_tier: 'priority' });
  const ended = await client.ended(body.id);
  assert.equal(ended.status, 'completed');
  assert.equal(ended.usage.cost, 0.04);
});

test('embeddings have no tier: they cost the same, whatever is asked for', async () => {
  const tiers: Json[] = [{}, { service_tier: 'flex' }, { service_tier: 'warp' }, { service_tier: { toString: 1 } }];
  for (const provider of ['chat', 'generate']) {
    const costs: number[] = [];
    for (const more of [...tiers, { provider: { options: { [provider]: { service_tier: 'flex' } } } }]) {
      const body = { model: `${provider}/vectors`, input: 'A boat on a river', ...more };
      const response = await post(`${gateway.url}/v1/embeddings`, body, HEADERS.chat);
      assert.equal(response.status, 200, await response.text());
      const id = String(response.headers.get('x-polygate-generation-id'));
      const { total_cost: cost, service_tier } = await recordOf(gateway.url, id);
      assert.equal(service_tier, null);
      costs.push(cost);
    }
    assert.ok(Number(costs[0]) > 0);
    assert.equal(new Set(costs).size, 1, `${provider}: ${costs}`);
  }
});

test('a provider’s own bill comes before the tier', async () => {
  const asked: Asking = { client: 'chat', model: 'bills/m', more: { service_tier: 'priority' }, served: 'priority' };
  const { cost, charge } = await charged(asked);
  assert.deepEqual([cost, charge.basis, charge.service_tier], [0.42, 'provider', 'priority']);
});

test('a configured tier has its own prices', async () => {
  const { cost, charge } = await charged({ client: 'chat', model: 'tiered/m', more: { service_tier: 'turbo' } });
  assert.deepEqual([cost, charge.assumed], [0.2, false]);
});

test('a tier that alone has prices is what the cost is made of', async () => {
  const { cost, charge } = await charged({ client: 'chat', model: 'tiered/alone', more: { service_tier: 'turbo' } });
  assert.deepEqual(
    [cost, charge.basis, charge.lines.map(({ kind }: Json) => kind)],
    [0.1, 'prices', ['input', 'output']],
  );
});

test('a routed model with its own prices, which no list has, costs what its provider asks in a tier', async () => {
  const asked: Asking = { client: 'chat', model: 'house/new', more: { service_tier: 'priority' } };
  const { cost, charge } = await charged(asked);
  assert.deepEqual([cost, charge.assumed], [0.04, false]);
});

test('prices that are not known are assumed, which the details say', async () => {
  const highest = await charged({ client: 'chat', model: 'chat/m', more: { service_tier: 'warp' } });
  assert.deepEqual([highest.cost, highest.charge.service_tier, highest.charge.assumed], [0.04, 'warp', true]);
  const local = await charged({ client: 'chat', model: 'local/m', more: { service_tier: 'priority' } });
  assert.deepEqual([local.cost, local.charge.assumed], [STANDARD, true]);
});

test('an empty tier of a response tells nothing', async () => {
  const asked: Asking = { client: 'chat', model: 'chat/m', served: '' };
  assert.equal((await charged(asked)).cost, STANDARD);
  assert.equal((await charged({ ...asked, more: { service_tier: 'flex' } })).cost, 0.01);
});

test('a name that an upstream made up harms no record', async () => {
  const { client, model } = { client: 'generate', model: 'generate/m' } as const;
  const { charge } = await charged({ client, model, more: { serviceTier: '"},{' } });
  assert.equal(charge.service_tier, '____'.replaceAll('_', '?'));
});

describe('attack: a budget', () => {
  const REFUSED = 402;

  test('is spent at the price of the tier', async () => {
    const asked: Asking = { client: 'chat', model: 'chat/m', key: keyOf('spends') };
    const more = { service_tier: 'priority', max_tokens: 5 };
    const statuses: number[] = [];
    for (let count = 0; count < 5; count++) statuses.push((await ask({ ...asked, more })).status);
    // Each costs 0.04 of 0.1: the third has 0.02 left, which is more than it may cost by its few tokens.
    assert.deepEqual(statuses, [200, 200, 200, REFUSED, REFUSED]);
  });

  test('must hold what a region may cost', async () => {
    const asked: Asking = { client: 'messages', model: 'messages/m', key: keyOf('regions') };
    // The text has some tokens, at 0.0001 each; 95 tokens out cost 0.095, and a tenth more within a region.
    const more = { max_tokens: 95 };
    assert.equal((await ask({ ...asked, more: { ...more, inference_geo: 'us' } })).status, REFUSED);
    assert.equal((await ask({ ...asked, more })).status, 200);
  });

  test('must hold what the tier may cost', async () => {
    const asked: Asking = { client: 'chat', model: 'chat/m', key: keyOf('holds') };
    const more = { max_tokens: 60 };
    assert.equal((await ask({ ...asked, more: { ...more, service_tier: 'priority' } })).status, REFUSED);
    assert.equal((await ask({ ...asked, more })).status, 200);
  });

  test('also asked for in another protocol', async () => {
    const asked: Asking = { client: 'messages', model: 'chat/m', key: keyOf('messages') };
    assert.equal((await ask({ ...asked, more: { max_tokens: 60, speed: 'fast' } })).status, REFUSED);
    assert.equal((await ask({ ...asked, more: { max_tokens: 60 } })).status, 200);
  });

  test('limits the output of an open request to what the tier leaves', async () => {
    const asked: Asking = { client: 'chat', model: 'chat/m', key: keyOf('open') };
    const limits: number[] = [];
    for (const service_tier of ['default', 'priority']) {
      assert.equal((await ask({ ...asked, more: { service_tier } })).status, 200);
      limits.push(upstream.calls.at(-1)?.body.max_completion_tokens);
    }
    // Half of what is left is for one request, but 1024 tokens at least: 1.5 USD, and 2.048 USD.
    assert.deepEqual(limits, [1499, 1024]);
  });

  test('also in the options for a provider', async () => {
    const provider = { options: { chat: { service_tier: 'priority' } } };
    const asked: Asking = {
      client: 'chat',
      model: 'chat/m',
      key: keyOf('options'),
      more: { max_tokens: 60, provider },
    };
    assert.equal((await ask(asked)).status, REFUSED);
    const { cost } = await charged({ client: 'chat', model: 'chat/m', more: { provider } });
    assert.equal(cost, 0.04);
  });

  test('by a tier of a wrong type, which nothing refuses in the options for a provider', async () => {
    for (const tier of [{ toString: 1 }, ['priority'], 3]) {
      for (const [client, name] of [
        ['chat', 'service_tier'],
        ['generate', 'serviceTier'],
        ['messages', 'service_tier'],
      ] as const) {
        const provider = { options: { [client]: { [name]: tier } } };
        const more = { max_tokens: 60, provider };
        const refused = await ask({ client: 'chat', model: `${client}/m`, key: keyOf('untyped'), more });
        assert.ok([402, 429].includes(refused.status), `${client} ${JSON.stringify(tier)}: ${refused.status}`);
      }
    }
  });

  test('by a name that only the gateway would take for a cheaper tier', async () => {
    const more = { serviceTier: 'flexservice_tier_' };
    const { cost } = await charged({ client: 'generate', model: 'chat/m', more });
    assert.ok(cost >= STANDARD, String(cost));
  });

  test('by other names of a tier', async () => {
    for (const tier of ['fast', 'ultrafast', 'PRIORITY', 'warp']) {
      const asked: Asking = { client: 'chat', model: 'chat/m', key: keyOf('names') };
      assert.equal((await ask({ ...asked, more: { max_tokens: 60, service_tier: tier } })).status, REFUSED, tier);
    }
  });

  test('in any spelling', async () => {
    const generationConfig = { maxOutputTokens: 60 };
    const cases: [more: Json, status: number][] = [
      [{ serviceTier: 'priority' }, 429],
      [{ service_tier: 'SERVICE_TIER_PRIORITY' }, 429],
      [{ serviceTier: 3 }, 400],
      [{ serviceTier: 'standard', service_tier: 'priority' }, 400],
    ];
    for (const [more, status] of cases) {
      const asked: Asking = { client: 'generate', model: 'generate/m', key: keyOf('spelled') };
      const refused = await ask({ ...asked, more: { ...more, generationConfig } });
      assert.equal(refused.status, status, JSON.stringify(more));
    }
  });
});
