/** Lists of requests over HTTP: for the operator and for a key, with how each was routed. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { TSchema } from 'typebox';
import { problems } from '../../src/core/json/check.ts';
import type { Json } from '../../src/core/json/json.ts';
import { decimalOf, moneyOf } from '../../src/core/money.ts';
import { requestDetail, requestList, requestSessions, requestSummary } from '../../src/http/requests/schema.ts';
import { groupBySession } from '../../src/usage/session-summary.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import {
  answerJson,
  createPermits,
  post,
  sendRaw,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

const TOKEN = 'admin-token-0123456789-0123456789';
const OTHER_KEY = 'sk-other-gateway-key-0123456789';
const KEYS = { own: 'sk-test-gateway-key-0123456789', other: OTHER_KEY };
/** Longer than an endpoint is in cooldown. */
const COOLDOWN_MS = 300_000;
const permits = createPermits();
const clock = createManualClock(Date.now());

const USAGE: Json = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
/** What the good upstream reports. */
let usage = USAGE;
let gateway: TestGateway;
let broken: TestUpstream;
let good: TestUpstream;

before(async () => {
  broken = await startUpstream(({ body }, response) => {
    const isLimited = body.messages[0].content.startsWith('limited');
    if (isLimited) {
      response.setHeader('retry-after', '20');
      response.setHeader('x-ratelimit-remaining-requests', '0');
      response.setHeader('set-cookie', 'account=operator');
    }
    answerJson(response, { error: { message: 'Busy.' } }, isLimited ? 429 : 503);
  });
  good = await startUpstream(async (call, response) => {
    if (call.body.messages[0].content === 'wait') await permits.take();
    response.setHeader('x-request-id', 'upstream-7');
    response.setHeader('x-ratelimit-remaining-requests', '99');
    answerJson(response, {
      ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm' },
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
      usage,
    });
  });
  const provider = (url: string, prompt = '0.000001') =>
    `{ type: openai-compatible, base_url: "${url}/v1", models: [{ id: m, pricing: { prompt: "${prompt}", completion: "0.000002" } }] }`;
  const unpriced = (url: string) => `{ type: openai-compatible, base_url: "${url}/v1", models: [{ id: m }] }`;
  gateway = await startTestGateway(
    `admin: { token: ${TOKEN}, port: 0 }
providers: { one: ${provider(broken.url)}, two: ${provider(good.url)}, three: ${unpriced(good.url)}, dear: ${provider(good.url, '0.00001')} }
models: { house/m: { endpoints: [{ provider: one, model: m }, { provider: two, model: m, priority: 1 }] } }`,
    { keys: [`{ name: other, key: ${OTHER_KEY} }`], clock },
  );
});
after(async () => {
  await gateway.close();
  await Promise.all([broken.close(), good.close()]);
});

interface Asking {
  key?: keyof typeof KEYS;
  text?: string;
  headers?: Record<string, string>;
  body?: Json;
}

async function chat(model: string, { key = 'own', text = 'hi', headers, body }: Asking = {}): Promise<string> {
  clock.advance(COOLDOWN_MS);
  const request = { model, messages: [{ role: 'user', content: text }], ...body };
  const authorization = `Bearer ${KEYS[key]}`;
  const response = await post(`${gateway.url}/v1/chat/completions`, request, { authorization, ...headers });
  await response.text();
  return response.headers.get('x-polygate-request-id') ?? '';
}

async function read(path: string, { key, schema }: { key?: keyof typeof KEYS; schema?: TSchema } = {}): Promise<Json> {
  const url = key === undefined ? gateway.adminUrl : gateway.url;
  const base = key === undefined ? '/admin/v1' : '/v1/self';
  const headers = { authorization: `Bearer ${key === undefined ? TOKEN : KEYS[key]}` };
  const { status, text } = await sendRaw(url, { method: 'GET', path: base + path, headers });
  assert.equal(status, 200, text);
  const body = JSON.parse(text);
  if (schema) {
    assert.deepEqual(problems(schema, body), []);
    assert.deepEqual(undescribed(schema as Json, body, ''), []);
  }
  return body;
}

/** Members that a response has and its schema does not. */
function undescribed(schema: Json, value: Json, path: string): string[] {
  if (schema.anyOf) return value === null ? [] : undescribed(schema.anyOf[0], value, path);
  if (Array.isArray(value)) return value.flatMap((one, index) => undescribed(schema.items, one, `${path}[${index}]`));
  if (typeof value !== 'object' || value === null || Object.keys(schema.properties ?? {}).length === 0) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name in schema.properties ? undescribed(schema.properties[name], inner, `${path}.${name}`) : [`${path}.${name}`],
  );
}

async function refused(path: string, key: keyof typeof KEYS): Promise<{ status: number }> {
  const headers = { authorization: `Bearer ${KEYS[key]}` };
  return sendRaw(gateway.url, { method: 'GET', path: `/v1/self${path}`, headers });
}

/** Cells of a file, by lines. */
async function file(path: string, key?: keyof typeof KEYS): Promise<string[][]> {
  const [base, secret] = key === undefined ? [gateway.adminUrl, TOKEN] : [gateway.url, KEYS[key]];
  const address = `${base}${key === undefined ? '/admin/v1' : '/v1/self'}${path}`;
  const response = await fetch(address, { headers: { authorization: `Bearer ${secret}` } });
  assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/csv; charset=utf-8']);
  assert.match(response.headers.get('content-disposition') ?? '', /attachment; filename="requests.csv"/);
  const lines = (await response.text()).split('\r\n');
  assert.equal(lines.pop(), '');
  return lines.map((line) =>
    [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)]
      .slice(0, line.endsWith(',') ? undefined : -1)
      .map(([, cell = '']) => (cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell)),
  );
}

async function trace(id: string): Promise<Json> {
  return (await read(`/requests/${id}`, { schema: requestDetail })).data.trace;
}

describe('the trace of a request', () => {
  test('has its attempts with their times, and the candidates', async () => {
    const id = await chat('house/m');
    const { data } = await read(`/requests/${id}`, { schema: requestDetail });
    assert.deepEqual(
      [data.status, data.model, data.requested_model, data.attempts, data.key_name, data.protocol],
      ['completed', 'two/m', 'house/m', 2, 'test', 'chat'],
    );
    assert.deepEqual([data.input_tokens, data.output_tokens, data.cost], [10, 5, '0.00002']);
    assert.equal(data.endpoint_number, 2);
    const [first, second] = data.trace.attempts;
    assert.deepEqual([first.endpoint, first.status, first.error], ['one/m', 503, 'overloaded']);
    assert.deepEqual([second.endpoint, second.status, second.error, second.path], ['two/m', 200, null, 'passthrough']);
    assert.ok(second.started_ms >= first.started_ms + first.total_ms - 1);
    assert.deepEqual(
      data.trace.candidates.map(({ endpoint }: Json) => endpoint),
      ['one/m', 'two/m'],
    );
  });

  test('has the policy, and why a candidate was left out', async () => {
    const id = await chat('house/m', { body: { provider: { ignore: ['one'] } } });
    const { candidates, policy } = await trace(id);
    assert.ok(policy.ignore.length === 1);
    const [chosen, left] = candidates;
    assert.deepEqual([chosen.endpoint, chosen.left_out, left.endpoint], ['two/m', undefined, 'one/m']);
    assert.match(left.left_out, /ignore/);
  });

  test('has the time until there was a connection, and none for one that was kept alive', async () => {
    const [before, after] = [await trace(await chat('two/m')), await trace(await chat('two/m'))];
    assert.ok(before.check_ms >= 0 && before.check_ms < 60_000, before.check_ms);
    assert.ok(before.attempts[0].connect_ms >= 0, before.attempts[0].connect_ms);
    assert.equal(after.attempts[0].connect_ms, 0);
  });

  test('has the time until there was a new connection where a kept one ended at the request', async () => {
    const fresh = await startUpstream((_call, response) => {
      // The second request comes over the connection of the first one.
      if (fresh.calls.length === 2) response.socket?.destroy();
      else answerJson(response, { error: { message: 'No.' } }, 400);
    });
    const own = await startTestGateway(
      `providers: { one: { type: openai-compatible, base_url: "${fresh.url}/v1", models: [{ id: m }] } }
admin: { token: ${TOKEN}, port: 0 }`,
    );
    try {
      const messages = [{ role: 'user', content: 'hi' }];
      for (const calls of [1, 3]) {
        // Servers close what has idled for a second at least.
        if (calls > 1) await pause(1100);
        const response = await post(
          `${own.url}/v1/chat/completions`,
          { model: 'one/m', messages },
          { authorization: `Bearer ${KEYS.own}` },
        );
        assert.equal(response.status, 400);
        await response.text();
        assert.equal(fresh.calls.length, calls);
        const url = `${own.adminUrl}/admin/v1/requests/${response.headers.get('x-polygate-request-id')}`;
        const { data } = (await (await fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } })).json()) as Json;
        assert.equal(data.trace.attempts.length, 1);
        assert.ok(data.trace.attempts[0].connect_ms >= 1, data.trace.attempts[0].connect_ms);
      }
    } finally {
      await own.close();
      await fresh.close();
    }
  });

  test('has the cooldown of the endpoint that an attempt began', async () => {
    const { attempts } = await trace(await chat('house/m', { text: 'limited' }));
    assert.deepEqual(
      attempts.map(({ endpoint, status, cooldown_ms }: Json) => [endpoint, status, cooldown_ms]),
      [
        ['one/m', 429, 20_000],
        ['two/m', 200, null],
      ],
    );
  });

  test('has headers that name the client and the answer, and no others; those of upstreams for operators', async () => {
    const headers = {
      ...{ 'user-agent': 'Some "client"', 'anthropic-beta': 'a'.repeat(500) },
      ...{ 'x-stainless-retry-count': '2', cookie: 'session=secret', 'x-api-note': 'free words' },
    };
    const id = await chat('house/m', { text: 'limited, with headers', headers });
    const { request_headers: asked, attempts } = await trace(id);
    assert.deepEqual(asked, {
      ...{ 'user-agent': 'Some "client"', 'anthropic-beta': 'a'.repeat(120), 'x-stainless-retry-count': '2' },
    });
    assert.deepEqual(
      attempts.map((attempt: Json) => attempt.response_headers),
      [{ 'retry-after': '20', 'x-ratelimit-remaining-requests': '0' }, { 'x-request-id': 'upstream-7' }],
    );
    const { data } = await read(`/requests/${id}`, { key: 'own' });
    assert.deepEqual(data.trace.request_headers, asked);
    assert.deepEqual(
      data.trace.attempts.map((attempt: Json) => attempt.response_headers),
      [{}, {}],
    );
    const first = await trace(await chat('two/m', { headers: { 'x-stainless-retry-count': '0' } }));
    assert.equal(first.request_headers['x-stainless-retry-count'], undefined);
  });

  test('is short where there was no choice, and has the conversation', async () => {
    const plain = await trace(await chat('two/m'));
    assert.deepEqual([plain.candidates, plain.policy, plain.session], [[], null, null]);
    assert.equal(plain.attempts[0].endpoint, 'two/m');
    const id = await chat('two/m', { headers: { 'x-session-id': 'turn "by" turn' } });
    assert.equal((await trace(id)).session, 'turn "by" turn');
    const query = new URLSearchParams({ session: 'turn "by" turn' });
    assert.deepEqual(
      (await read(`/requests?${query}`)).data.map((one: Json) => one.id),
      [id],
    );
    const named = await chat('two/m', { headers: { 'x-litellm-session-id': 'from LiteLLM' } });
    assert.equal((await trace(named)).session, 'from LiteLLM');
  });

  test('has the lines that the cost is the sum of, or says what else it is', async () => {
    const { data } = await read(`/requests/${await chat('two/m')}`, { schema: requestDetail });
    assert.deepEqual(data.charge, {
      basis: 'prices',
      service_tier: null,
      assumed: false,
      limited: false,
      lines: [
        { kind: 'input', count: 10, price: '0.000001', price_per_million: '1', cost: '0.00001' },
        { kind: 'output', count: 5, price: '0.000002', price_per_million: '2', cost: '0.00001' },
      ],
    });
    const split = { prompt_tokens: 1000, completion_tokens: 77, prompt_tokens_details: { cached_tokens: 333 } };
    usage = { ...split, completion_tokens_details: { reasoning_tokens: 11 } };
    const detailed = (await read(`/requests/${await chat('two/m')}`, { schema: requestDetail })).data;
    assert.deepEqual(
      detailed.charge.lines.map(({ kind, count }: Json) => [kind, count]),
      [
        ['input', 667],
        ['cached', 333],
        ['output', 66],
        ['reasoning', 11],
      ],
    );
    const sum = detailed.charge.lines.reduce((total: bigint, { cost }: Json) => total + moneyOf(cost), 0n);
    assert.equal(decimalOf(sum), detailed.cost);
    usage = USAGE;
    const failed = (await read(`/requests/${await chat('one/m')}`, { schema: requestDetail })).data;
    assert.deepEqual(
      [failed.cost, failed.charge],
      ['0', { basis: 'nothing', service_tier: null, assumed: false, limited: false, lines: [] }],
    );
    const unpriced = (await read(`/requests/${await chat('three/m')}`, { schema: requestDetail })).data;
    assert.deepEqual([unpriced.cost, unpriced.charge.basis], [null, 'unknown']);
  });

  test('has at most 4 kB, whatever a client sends', async () => {
    const order = Array.from({ length: 50 }, (_, index) => `two/${index}${'x"'.repeat(80)}`);
    const id = await chat('house/m', { body: { provider: { order } }, headers: { 'x-session-id': 'x'.repeat(5000) } });
    const stored = await trace(id);
    assert.ok(stored.attempts.length > 0);
    assert.ok(JSON.stringify(stored).length < 6000);
  });
});

describe('the list of requests', () => {
  test('is of all keys for the operator, and of one for its holder', async () => {
    const own = await chat('two/m');
    const other = await chat('two/m', { key: 'other' });
    const ids = (list: Json) => list.data.map(({ id }: Json) => id);
    const all = ids(await read('/requests?limit=2', { schema: requestList }));
    assert.deepEqual(all, [other, own]);
    assert.deepEqual(ids(await read('/requests?key=config:other')), [other]);
    assert.deepEqual(ids(await read('/requests', { key: 'other', schema: requestList })), [other]);
    assert.equal((await read(`/requests/${other}`, { key: 'other' })).data.id, other);
    for (const path of [`/requests/${own}`, '/requests?key=config:test']) {
      const headers = { authorization: `Bearer ${OTHER_KEY}` };
      const { status } = await sendRaw(gateway.url, { method: 'GET', path: `/v1/self${path}`, headers });
      assert.ok([400, 404].includes(status), path);
    }
  });

  test('has the first request of a key at once, and so has its summary', async () => {
    const own = await startTestGateway(`admin: { token: ${TOKEN}, port: 0 }`, {
      keys: [`{ name: other, key: ${OTHER_KEY}, tags: { team: search } }`],
    });
    const list = async (url: string, path: string, key: string): Promise<Json> => {
      const headers = { authorization: `Bearer ${key}` };
      return JSON.parse((await sendRaw(url, { method: 'GET', path, headers })).text).data;
    };
    const authorization = { authorization: `Bearer ${OTHER_KEY}` };
    const request = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'hi' }] };
    try {
      assert.equal((await post(`${own.url}/v1/chat/completions`, request, authorization)).status, 200);
      assert.equal((await list(own.url, '/v1/self/requests/summary', OTHER_KEY)).requests, 1);
      assert.equal((await list(own.adminUrl, '/admin/v1/requests?tag=team%3Dsearch', TOKEN)).length, 1);
    } finally {
      await own.close();
    }
  });

  test('has filters, and refuses wrong ones by name', async () => {
    await chat('house/m');
    const { data } = await read('/requests?fell_back=true&limit=200');
    assert.ok(data.length > 0 && data.every((one: Json) => one.attempts > 1));
    assert.deepEqual((await read('/requests?cost_above=0.002')).data, []);
    assert.deepEqual((await read('/requests?upstream_protocol=messages')).data, []);
    assert.ok((await read('/requests?upstream_protocol=chat')).data.length > 0);
    for (const query of [
      'status=odd',
      'cost_above=-1',
      'limit=0',
      'limit=201',
      'dropped=1',
      'model=',
      'from=then',
      'without_tag=team=search',
      'estimated=1',
      'wrong=1',
      'after=x',
      'after=x&live=y',
      'status=failed&open=true',
      'from=2020-01-01&open=true',
    ]) {
      const headers = { authorization: `Bearer ${TOKEN}` };
      const { status, text } = await sendRaw(gateway.adminUrl, {
        method: 'GET',
        path: `/admin/v1/requests?${query}`,
        headers,
      });
      assert.equal(status, 400, query);
      assert.match(
        text,
        new RegExp(query.split('=', 1)[0] === 'after' ? 'after|live' : (query.split('=', 1)[0] as string)),
      );
    }
  });

  test('is a file of all requests of the filters, exact and without formulas', async () => {
    // Longer than a piece of the file, whose requests are read together.
    const harmful = '=HYPERLINK("http://x","y")';
    await chat('two/m', { headers: { 'x-session-id': harmful } });
    const list: Json[] = [];
    for (let after = ''; ; ) {
      const page = await read(`/requests?model=two/m&limit=3${after && `&after=${after}`}`, { schema: requestList });
      list.push(...page.data);
      if (page.next === null) break;
      after = page.next;
    }
    const [head = [], ...rows] = await file('/requests?model=two/m&format=csv');
    assert.deepEqual(
      rows.map((cells) => cells[head.indexOf('id')]),
      list.map(({ id }) => id),
    );
    for (const name of ['cost', 'input_tokens', 'total_ms', 'key_name', 'status', 'ended_at']) {
      assert.deepEqual(
        rows.map((cells) => cells[head.indexOf(name)]),
        list.map((row) => String(row[name])),
        name,
      );
    }
    assert.equal(rows[0]?.[head.indexOf('session')], `'${harmful}`);
    const own = await file('/requests?format=csv', 'other');
    assert.ok(own.length > 1 && own.slice(1).every((cells) => cells[head.indexOf('key_name')] === 'other'));
    for (const [query, message] of [
      ['format=csv&limit=5', /limit must not come with format=csv/],
      ['format=csv&after=x', /after must not/],
      ['format=xml', /format must be json or csv/],
      ['format=csv&cost_above=much', /cost_above must be/],
    ] as const) {
      const { status, text } = await sendRaw(gateway.adminUrl, {
        ...{ method: 'GET', path: `/admin/v1/requests?${query}`, headers: { authorization: `Bearer ${TOKEN}` } },
      });
      assert.equal(status, 400, query);
      assert.match(text, message);
    }
  });

  test('goes on with what ends after it, each once', async () => {
    const { live } = await read('/requests?limit=1');
    assert.deepEqual((await read(`/requests?live=${live}`)).data, []);
    const id = await chat('two/m');
    const next = await read(`/requests?live=${live}`, { schema: requestList });
    assert.deepEqual(
      next.data.map((one: Json) => one.id),
      [id],
    );
    assert.deepEqual((await read(`/requests?live=${next.live}`)).data, []);
  });

  test('shows those that run, of all keys or of one', async () => {
    const running = chat('two/m', { text: 'wait', key: 'other' });
    while (!good.calls.some(({ body }) => body.messages[0].content === 'wait')) await new Promise(setImmediate);
    const { data } = await read('/requests?open=true', { schema: requestList });
    assert.deepEqual(
      data.map((one: Json) => [one.status, one.model, one.key_name]),
      [['running', 'two/m', 'other']],
    );
    assert.equal((await read('/requests?open=true', { key: 'other' })).data.length, 1);
    assert.deepEqual((await read('/requests?open=true', { key: 'own' })).data, []);
    assert.equal((await read('/requests/summary')).data.running, 1);
    assert.equal(data[0].ended_at, null);
    const opened = (await read(`/requests/${data[0].id}`, { schema: requestDetail })).data;
    assert.deepEqual(opened, { ...data[0], charge: null, trace: null });
    assert.equal((await read(`/requests/${data[0].id}`, { key: 'other' })).data.status, 'running');
    assert.equal((await refused(`/requests/${data[0].id}`, 'own')).status, 404);
    permits.give();
    const id = await running;
    assert.equal(data[0].id, id);
    assert.equal((await read(`/requests/${id}`)).data.status, 'completed');
    assert.deepEqual((await read('/requests?open=true')).data, []);
  });

  test('is summed up', async () => {
    const { data: list } = await read('/requests?limit=200');
    const { data } = await read('/requests/summary?from=2020-01-01', { schema: requestSummary });
    assert.deepEqual([data.requests, data.complete], [list.length, true]);
    const cents = list.reduce((sum: number, { cost }: Json) => sum + Math.round(Number(cost) * 1e9), 0);
    assert.equal(Math.round(Number(data.cost) * 1e9), cents);
    const own = (await read('/requests/summary?from=2020-01-01', { key: 'other', schema: requestSummary })).data;
    assert.equal(own.requests, list.filter(({ key_name }: Json) => key_name === 'other').length);
  });
});

describe('usage.trace', () => {
  for (const [choice, expected] of [
    ['problems', [false, true]],
    ['none', [false, false]],
  ] as const) {
    test(`${choice} keeps fewer`, async () => {
      const provider = (url: string) => `{ type: openai-compatible, base_url: "${url}/v1", models: [{ id: m }] }`;
      const own = await startTestGateway(
        `usage: { trace: ${choice} }
providers: { one: ${provider(broken.url)}, two: ${provider(good.url)} }
models: { house/m: { endpoints: [{ provider: one, model: m }, { provider: two, model: m, priority: 1 }] } }`,
        { clock },
      );
      const shared = gateway;
      gateway = own;
      try {
        const ids = [await chat('two/m'), await chat('house/m')];
        const found = [];
        for (const id of ids) found.push((await read(`/requests/${id}`, { key: 'own' })).data.trace !== null);
        assert.deepEqual(found, expected);
      } finally {
        gateway = shared;
        await own.close();
      }
    });
  }
});

describe('conversations', () => {
  test('are lines with the sums of their requests, the last one first, of one key for its holder', async () => {
    const headers = { 'x-claude-code-session-id': 'agent-1' };
    for (let turn = 0; turn < 3; turn++) await chat('two/m', { headers });
    await chat('two/m', { key: 'other', headers: { session_id: 'agent-2' } });
    const all: Json[] = (await read('/requests/sessions', { schema: requestSessions })).data;
    const lines = all.filter(({ session }) => session.startsWith('agent-'));
    assert.deepEqual(
      lines.map(({ session, requests, failures, models, keys }) => [session, requests, failures, models, keys.length]),
      [
        ['agent-2', 1, 0, ['two/m'], 1],
        ['agent-1', 3, 0, ['two/m'], 1],
      ],
    );
    const list: Json[] = (await read('/requests?session=agent-1')).data;
    assert.equal(list.length, 3);
    const sum = list.reduce((total, { input_tokens }) => total + input_tokens, 0);
    assert.equal(lines[1]?.input_tokens, sum);
    const own: Json[] = (await read('/requests/sessions', { key: 'other', schema: requestSessions })).data;
    assert.deepEqual(
      own.map(({ session }) => session),
      ['agent-2'],
    );
  });

  test('have the tools that failed, each once, where the protocol says it', async () => {
    const headers = {
      ...{ authorization: `Bearer ${KEYS.own}`, 'anthropic-version': '2023-06-01' },
      'x-session-id': 'agent-tools',
    };
    const call = (id: string) => ({ role: 'assistant', content: [{ type: 'tool_use', id, name: 'look', input: {} }] });
    const result = (id: string, is_error: boolean) => ({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: id, content: 'x', is_error }],
    });
    const turns: Json[] = [
      { role: 'user', content: 'hi' },
      call('a'),
      result('a', true),
      call('b'),
      result('b', false),
    ];
    const ids = [];
    for (const length of [1, 3, 5]) {
      const request = { model: 'two/m', max_tokens: 9, messages: turns.slice(0, length) };
      const response = await post(`${gateway.url}/anthropic/v1/messages`, request, headers);
      assert.equal(response.status, 200, await response.text());
      ids.push(response.headers.get('x-polygate-request-id'));
    }
    const counts = [];
    for (const id of ids) counts.push((await read(`/requests/${id}`, { schema: requestDetail })).data.tool_failures);
    assert.deepEqual(counts, [0, 1, 0]);
    const plain = await chat('two/m', { headers: { 'x-session-id': 'agent-plain' } });
    assert.equal((await read(`/requests/${plain}`)).data.tool_failures, null);
    for (const key of [undefined, 'own'] as const) {
      const { data } = await read('/requests/sessions', { ...(key && { key }), schema: requestSessions });
      const found = data.filter(({ session }: Json) => ['agent-tools', 'agent-plain'].includes(session));
      assert.deepEqual(
        found.map(({ session, tool_failures }: Json) => [session, tool_failures]),
        [
          ['agent-plain', null],
          ['agent-tools', 1],
        ],
      );
    }
  });

  test('leave out the failed tools of a request without an answer, which come again', () => {
    const row = (status: string, tool_failures: number | null) => ({
      ...{ status, tool_failures, ended_at: 1, key_id: 'k', endpoint_provider: 'p', endpoint_model: 'm' },
      ...{ input_tokens: 1, output_tokens: 1, cached_tokens: 0, cost: '0' },
    });
    const sum = (...rows: ReturnType<typeof row>[]) =>
      groupBySession(rows, { sessionOf: () => 'one', hasPrice: () => true })[0]?.tool_failures;
    assert.equal(sum(row('failed', 2), row('interrupted', 2), row('completed', 2), row('partial', 1)), 3);
    assert.equal(sum(row('failed', 2)), 0);
    assert.equal(sum(row('completed', null)), null);
  });
});

test('a cost that is limited has lines that are more', async () => {
  usage = { prompt_tokens: 2_000_000_000, completion_tokens: 5 };
  const { data } = await read(`/requests/${await chat('dear/m')}`, { schema: requestDetail });
  usage = USAGE;
  const costs = data.charge.lines.map(({ cost }: Json) => cost);
  assert.deepEqual([data.cost, data.charge.limited, costs], ['5000', true, ['10000', '0.00001']]);
});
