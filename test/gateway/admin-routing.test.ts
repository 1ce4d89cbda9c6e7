/** Routing in the admin API: explanations, health of endpoints, and models with their endpoints. */

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { ADMIN_CONFIG, type AdminAnswer, askAdmin } from './admin-client.ts';
import { ask, KEY, post } from './harness.ts';
import { type Fleet, startFleet } from './routing-upstreams.ts';

const HOUR_MS = 3_600_000;
const CHAT = { protocol: 'chat', body: { model: 'house/m', messages: [{ role: 'user', content: 'hi' }] } };

let fleet: Fleet;
before(async () => {
  fleet = await startFleet({
    names: ['one', 'two'],
    more: 'aliases: { quick: house/m }\n',
    server: ADMIN_CONFIG,
  });
});
after(() => fleet.close());
afterEach(() => {
  fleet.pass(HOUR_MS);
  for (const upstream of Object.values(fleet.upstreams)) upstream.behaves = 'well';
});

const admin = (method: string, path: string, body?: Json): Promise<AdminAnswer> =>
  askAdmin(fleet.gateway.adminUrl, method, path, body);

async function chat(text = 'hi'): Promise<void> {
  await (await ask(fleet.gateway, { protocol: 'chat', model: 'house/m', text })).text();
}

async function failOne(): Promise<void> {
  assert.ok(fleet.upstreams.one);
  fleet.upstreams.one.behaves = { status: 429, headers: { 'retry-after': '20' } };
  await chat();
}

describe('an explanation', () => {
  test('names the endpoints in order, with path and dropped fields, and sends nothing', async () => {
    const calls = fleet.upstreams.one?.calls.length;
    const body = { ...CHAT.body, seed: 7 };
    const { status, body: answer } = await admin('POST', '/explain', { ...CHAT, body });
    assert.equal(status, 200, JSON.stringify(answer));
    const { requested, model, candidates } = answer.data;
    assert.deepEqual([requested, model], ['house/m', 'house/m']);
    const shown = candidates.map(({ endpoint, path, dropped }: Json) => [endpoint, path, dropped]);
    assert.deepEqual(shown, [
      ['one/m', 'passthrough', []],
      ['two/m', 'passthrough', []],
    ]);
    assert.equal(fleet.upstreams.one?.calls.length, calls);
  });

  test('of another protocol says which fields are dropped', async () => {
    const body = { model: 'house/m', max_tokens: 5, top_k: 3, messages: [{ role: 'user', content: 'hi' }] };
    const { body: answer } = await admin('POST', '/explain', { protocol: 'messages', body });
    assert.deepEqual([answer.data.candidates[0].path, answer.data.candidates[0].dropped], ['translated', ['top_k']]);
  });

  test('heeds a policy, and says why endpoints are excluded', async () => {
    const { body } = await admin('POST', '/explain', { ...CHAT, policy: { only: ['two'] } });
    const [first, second] = body.data.candidates;
    assert.equal(first.endpoint, 'two/m');
    assert.match(second.left_out, /only/);
  });

  test('knows the cooldowns of the running gateway, unless it is asked for the ideal', async () => {
    await failOne();
    const order = async (more: Json) =>
      (await admin('POST', '/explain', { ...CHAT, ...more })).body.data.candidates.map(
        ({ endpoint }: Json) => endpoint,
      );
    assert.deepEqual(await order({}), ['two/m', 'one/m']);
    assert.deepEqual(await order({ ideal: true }), ['one/m', 'two/m']);
  });

  test('has the medians by which endpoints are ranked, of streamed or whole responses, and none in the ideal', async () => {
    fleet.pass(HOUR_MS);
    const medians = async (more: Json) =>
      (await admin('POST', '/explain', { ...CHAT, ...more })).body.data.candidates.map(
        ({ endpoint, first_byte_ms: first, tokens_per_second: rate }: Json) => [endpoint, first, rate],
      );
    const unknown = [
      ['one/m', undefined, undefined],
      ['two/m', undefined, undefined],
    ];
    assert.deepEqual(await medians({}), unknown);
    const asked = { ...CHAT.body, provider: { only: ['two'] } };
    const authorization = `Bearer ${KEY}`;
    const response = await post(`${fleet.gateway.url}/v1/chat/completions`, asked, { authorization });
    assert.equal(response.status, 200, await response.text());
    const [one, two] = await medians({});
    assert.deepEqual(one, unknown[0]);
    assert.ok(two[1] >= 0 && two[2] > 0, two);
    const left = await medians({ policy: { only: ['one'] } });
    assert.deepEqual([left[1][0], left[1][1]], ['two/m', two[1]]);
    assert.deepEqual(await medians({ body: { ...CHAT.body, stream: true } }), unknown);
    assert.deepEqual(await medians({ ideal: true }), unknown);
    const { trace } = (await admin('GET', `/requests/${response.headers.get('x-polygate-request-id')}`)).body.data;
    assert.doesNotMatch(JSON.stringify(trace.candidates), /first_byte_ms|tokens_per_second/);
  });

  test('takes a model without a body', async () => {
    const { body } = await admin('POST', '/explain', { protocol: 'generate', model: 'quick' });
    assert.equal(body.data.model, 'house/m');
  });

  const refused: [name: string, body: Json, status: number, message: RegExp][] = [
    ['an unknown protocol', { ...CHAT, protocol: 'mail' }, 400, /protocol.*chat/],
    ['an unknown field', { ...CHAT, polcy: {} }, 400, /polcy/],
    ['no model', { protocol: 'chat' }, 400, /model/],
    ['a model that does not exist', { protocol: 'chat', model: 'house/x' }, 404, /Similar are.*house\/m/],
    ['a policy that does not exist', { ...CHAT, policy: { onlly: [] } }, 400, /^policy\.onlly /],
  ];
  for (const [name, question, status, message] of refused) {
    test(`is refused for ${name}`, async () => {
      const answer = await admin('POST', '/explain', question);
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.match(answer.body.error.message, message);
    });
  }
});

describe('the health of endpoints', () => {
  const health = async (name: string): Promise<Json> =>
    (await admin('GET', '/health/endpoints')).body.data.find(({ endpoint }: Json) => endpoint === name);

  test('has the state of a circuit, its cause and its cooldown', async () => {
    await failOne();
    const { state, cause, cooldown_ms: cooldown, credential } = await health('one/m');
    assert.deepEqual([state, cause, cooldown, credential], ['open', 'rate_limit_exceeded', 20_000, 1]);
    fleet.pass(20_000);
    assert.equal((await health('one/m')).state, 'half-open');
    if (fleet.upstreams.one) fleet.upstreams.one.behaves = 'well';
    await chat('of another conversation, which no endpoint holds');
    const { state: closed, cause: none, whole } = await health('one/m');
    assert.deepEqual([closed, none], ['closed', undefined]);
    assert.ok(whole.first_byte_seconds.p50 >= 0 && whole.first_byte_seconds.p99 >= whole.first_byte_seconds.p50);
  });

  test('forgets what is old, and shows no credential', async () => {
    await chat();
    const text = JSON.stringify((await admin('GET', '/health/endpoints')).body);
    assert.doesNotMatch(text, /key-of-it|[0-9a-f]{16}/);
    fleet.pass(HOUR_MS);
    const { state, whole } = await health('one/m');
    assert.deepEqual([state, whole], ['closed', undefined]);
    fleet.pass(25 * HOUR_MS);
    assert.deepEqual((await admin('GET', '/health/endpoints')).body.data, []);
  });

  test('has the success of the last minutes, hour and day, the last failure, and what the upstream told', async () => {
    fleet.pass(25 * HOUR_MS);
    assert.ok(fleet.upstreams.one);
    const headers = {
      'x-ratelimit-limit-requests': '5000',
      'x-ratelimit-remaining-requests': '4999',
      'x-ratelimit-reset-requests': '12ms',
      'x-ratelimit-remaining-tokens': 'many',
    };
    fleet.upstreams.one.behaves = { status: 429, headers };
    await chat('of a conversation that nobody has bound');
    const failed = await health('one/m');
    assert.deepEqual(failed.history.last_5_minutes, { attempts: 1, failed: 1 });
    assert.deepEqual(
      failed.history.last_failures.map(({ code }: Json) => code),
      ['rate_limit_exceeded'],
    );
    const [{ told_at, ...told }, ...more] = failed.limits;
    assert.deepEqual(told, { kind: 'requests', limit: 5000, remaining: 4999, reset: '12ms' });
    assert.ok(Number.isFinite(Date.parse(told_at)));
    assert.deepEqual(more, []);
    const other = await health('two/m');
    assert.deepEqual([other.history.last_5_minutes, other.limits], [{ attempts: 1, failed: 0 }, []]);
    assert.deepEqual([other.credentials, other.history.last_failures], [1, []]);
    fleet.pass(HOUR_MS);
    fleet.upstreams.one.behaves = 'well';
    for (let count = 0; count < 3; count++) await chat(`after an hour ${count}`);
    const all = (await admin('GET', '/health/endpoints')).body.data;
    const sum = (name: string, of: string) =>
      all.reduce((most: number, { history }: Json) => most + history[name][of], 0);
    assert.deepEqual([sum('last_5_minutes', 'attempts'), sum('last_5_minutes', 'failed')], [3, 0]);
    assert.deepEqual([sum('last_day', 'attempts'), sum('last_day', 'failed')], [5, 1]);
    const { history } = await health('one/m');
    assert.equal(history.half_hours.length, 48);
    assert.equal(
      history.half_hours.findLastIndex((counts: Json) => counts.failed > 0),
      45,
    );
  });
});

describe('models', () => {
  test('have their endpoints, prices, rules and aliases', async () => {
    const { body } = await admin('GET', '/models?search=house');
    const [{ id, endpoints, aliases, rules }] = body.data;
    assert.deepEqual([id, aliases, body.total, body.next], ['house/m', ['quick'], 1, null]);
    assert.deepEqual(
      endpoints.map(({ endpoint, priority }: Json) => [endpoint, priority]),
      [
        ['one/m', 0],
        ['two/m', 1],
      ],
    );
    assert.equal(typeof rules, 'object');
  });

  test('of which one is asked for has its times, its users, and its lines of the configuration', async () => {
    await chat();
    const { body } = await admin('GET', '/models?id=house/m');
    const [{ endpoints, users, users_total, users_from, users_to, configured }, ...others] = body.data;
    assert.deepEqual(others, []);
    assert.ok(endpoints[0].statistics.first_byte_seconds >= 0);
    assert.ok(Date.parse(users_from) < Date.parse(users_to));
    assert.deepEqual([users_total, users[0].key_name, users[0].requests >= 1, users[0].cost], [1, 'test', true, null]);
    const lines = configured.map(({ path, value, source }: Json) => [path, value, source.from]);
    assert.ok(
      lines.some(([path, value]: string[]) => path === 'aliases.quick' && value === 'house/m'),
      String(lines),
    );
    assert.deepEqual(lines.find(([path]: string[]) => path === 'models.house/m.endpoints[1].provider').slice(1), [
      'two',
      'file',
    ]);
    const { body: own } = await admin('GET', '/models?id=two/m');
    assert.deepEqual(
      own.data[0].configured.map(({ path, value }: Json) => [path, value]),
      [['providers.two.models[0].id', 'm']],
    );
    assert.equal((await admin('GET', '/models?id=house/')).body.total, 0);
  });

  test('that answered lately have statistics, each once, in one read', async () => {
    await chat();
    const { status, body } = await admin('GET', '/models/statistics');
    assert.equal(status, 200);
    const names = body.data.map(({ id }: Json) => id);
    assert.deepEqual(names.toSorted(), ['house/m', 'one/m'], 'the model, and its endpoint under its own name');
    const { body: whole } = await admin('GET', '/models?id=house/m');
    const { statistics } = whole.data[0].endpoints[0];
    for (const one of body.data) assert.equal(one.first_byte_seconds, statistics.first_byte_seconds);
    assert.equal((await admin('GET', '/models/statistics?id=house/m')).status, 400);
  });

  test('with an endpoint are those that are made of it, and its own', async () => {
    const { body } = await admin('GET', '/models?endpoint=one/m');
    assert.deepEqual([body.total, body.data.map(({ id }: Json) => id)], [2, ['one/m', 'house/m']]);
    assert.equal((await admin('GET', '/models?endpoint=one/none')).body.total, 0);
  });

  test('with zero retention are those whose configuration says so', async () => {
    assert.equal((await admin('GET', '/models?zero_retention=true')).body.total, 0);
    assert.equal((await admin('GET', '/models?zero_retention=perhaps')).status, 400);
    const zero = await startFleet({
      names: ['kept', 'other'],
      more: '  house/nothing: { endpoints: [{ provider: kept, model: m, data_policy: { zdr: true } }] }\n',
      server: ADMIN_CONFIG,
    });
    try {
      const { body } = await askAdmin(zero.gateway.adminUrl, 'GET', '/models?zero_retention=true');
      assert.deepEqual(
        body.data.map(({ id, endpoints }: Json) => [id, endpoints[0].zero_retention]),
        [['house/nothing', true]],
      );
    } finally {
      await zero.close();
    }
  });

  test('come in pages that lose none, and by provider', async () => {
    const all: string[] = [];
    let next: string | null = '';
    while (next !== null) {
      const cursor = next === '' ? '' : `&after=${encodeURIComponent(next)}`;
      const page: AdminAnswer = await admin('GET', `/models?limit=2${cursor}`);
      all.push(...page.body.data.map(({ id }: Json) => id));
      next = page.body.next;
    }
    assert.equal(new Set(all).size, all.length);
    assert.ok(all.includes('house/m') && all.includes('sandbox/echo'));
    const { body } = await admin('GET', '/models?provider=two');
    assert.deepEqual(
      body.data.map(({ id }: Json) => id),
      ['two/m'],
    );
    assert.equal((await admin('GET', '/models?after=nothing')).status, 400);
  });
});
