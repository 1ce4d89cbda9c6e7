/** Two gateways on one database: each tells of the endpoints that the other one uses, and of one that was stopped. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { type EndpointRow, mergeEndpoints, readSnapshot, snapshotOf } from '../../src/http/admin/endpoint-rows.ts';
import { providePostgres } from '../store/postgres-server.ts';
import { ADMIN_CONFIG, askAdmin } from './admin-client.ts';
import { answerJson, ask, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from './harness.ts';
import { eventually } from './video-client.ts';

const USAGE = { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 };
const NOW = Date.UTC(2026, 10, 18, 12);
const HALF_HOUR_MS = 1_800_000;

let database: Awaited<ReturnType<typeof providePostgres>>;
let upstream: TestUpstream;
let behaves: 'well' | 'limited' | 'late' = 'well';
let answerLate: () => void = () => undefined;
let isStuck = false;
let start: () => Promise<TestGateway>;
const running = new Set<TestGateway>();

function stop(gateway: TestGateway): Promise<void> {
  running.delete(gateway);
  return gateway.close();
}

before(async () => {
  database = await providePostgres();
  upstream = await startUpstream((_call, response) => {
    if (behaves === 'limited') {
      const headers = { 'retry-after': '300', 'x-ratelimit-remaining-requests': '7' };
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      answerJson(response, { error: { message: 'Too many.' } }, 429);
      return;
    }
    if (behaves === 'late') {
      answerLate = () => void response.writeHead(500).end();
      return;
    }
    const message = { role: 'assistant', content: 'Yes.' };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage: USAGE });
  });
  const yaml = `${ADMIN_CONFIG}
encryption: { key: "${randomBytes(32).toString('base64')}" }
providers: { a: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: key-of-it, models: [{ id: m }] } }`;
  start = async () => {
    const gateway = await startTestGateway(yaml, {
      postgres: database.url,
      wrapStore: (inner) => ({
        ...inner,
        call: (name, parameters) =>
          isStuck && name === 'storeEndpointSnapshot' ? new Promise(() => {}) : inner.call(name, parameters),
      }),
    });
    running.add(gateway);
    return gateway;
  };
});
after(async () => {
  await Promise.all([...running].map(stop));
  await upstream.close();
  await database.close();
});

async function chat(gateway: TestGateway, count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    await (await ask(gateway, { protocol: 'chat', model: 'a/m', text: `hi ${index}` })).text();
  }
}

const healthAt = async (gateway: TestGateway): Promise<Json> =>
  (await askAdmin(gateway.adminUrl, 'GET', '/health/endpoints')).body;

test('an endpoint has the counts of all gateways, and the worst state with the gateway that says so', async () => {
  const [here, there] = [await start(), await start()];
  await chat(here, 3);
  behaves = 'limited';
  await chat(there, 1);
  behaves = 'well';
  await eventually({}, async () => (await healthAt(here)).gateways.length === 2);
  const { data, complete, gateways } = await healthAt(here);
  const [row, ...others] = data;
  const ids = gateways.map(({ id }: Json) => id);
  assert.deepEqual(
    {
      rows: [row.endpoint, row.state, row.cause, others.length, complete],
      counts: [row.history.last_5_minutes, row.history.last_hour, row.history.last_day],
      failures: row.history.last_failures.map(({ code }: Json) => code),
      told: row.limits.map(({ kind, remaining }: Json) => [kind, remaining]),
      by: [row.told_by, row.gateways.map(({ id, state }: Json) => [id, state])],
      gateways: gateways.map(({ answers, gone, endpoints }: Json) => [answers, gone, endpoints]),
    },
    {
      rows: ['a/m', 'open', 'rate_limit_exceeded', 0, true],
      counts: Array.from({ length: 3 }, () => ({ attempts: 4, failed: 1 })),
      failures: ['rate_limit_exceeded'],
      told: [['requests', 7]],
      by: [ids[1], [[ids[0], 'closed'], [ids[1], 'open']]], // biome-ignore format: Pairs.
      gateways: [
        [true, false, 1],
        [false, false, 1],
      ],
    },
  );
  assert.ok(row.cooldown_ms > 200_000 && row.cooldown_ms <= 300_000);
  assert.doesNotMatch(JSON.stringify(data), /key-of-it|#/);
  // Its states go with it, and its counts stay: for this gateway, and for one that starts.
  await stop(there);
  const { data: left, gateways: known } = await healthAt(here);
  assert.deepEqual([left[0].state, left[0].history.last_day.attempts], ['closed', 4]);
  assert.deepEqual([known[1].gone, left[0].gateways[1].state], [true, null]);
  await stop(here);
  const { data: kept } = await healthAt(await start());
  assert.deepEqual([kept[0].endpoint, kept[0].history.last_day], ['a/m', { attempts: 4, failed: 1 }]);
});

test('a request that ends while its gateway stops is counted', async () => {
  const gateway = await start();
  const before = (await healthAt(gateway)).data[0].history.last_day;
  behaves = 'late';
  const calls = upstream.calls.length;
  const answered = ask(gateway, { protocol: 'chat', model: 'a/m', text: 'late' });
  await eventually({}, () => upstream.calls.length > calls);
  const stopped = stop(gateway);
  answerLate();
  behaves = 'well';
  assert.notEqual((await answered).status, 200);
  await stopped;
  const { attempts, failed } = (await healthAt(await start())).data[0].history.last_day;
  assert.ok(attempts > before.attempts && failed === before.failed + attempts - before.attempts);
});

test('a store that takes no snapshot delays the end of a gateway by seconds', async () => {
  const gateway = await start();
  await chat(gateway, 1);
  isStuck = true;
  const startedAt = performance.now();
  await stop(gateway);
  isStuck = false;
  assert.ok(performance.now() - startedAt < 10_000);
});

const row = (endpoint: string, more: Partial<EndpointRow> = {}): EndpointRow => ({
  ...{ endpoint, credential: 1, credentials: 1, state: 'closed' as const },
  ...{ minutes: [5, 1], half_hours: [5, 1], last_failures: [], limits: [], ...more },
});

test('what a gateway knew grows old', () => {
  const open = { state: 'open' as const, cause: 'timeout', cooldown_ms: 60_000 };
  const at = (age: number, isGone = false) => {
    const [merged] = mergeEndpoints(
      [{ instance: 'one', at: NOW - age, isGone, rows: [row('a/m', open)] }],
      NOW,
    ) as Json[];
    const { state, cooldown_ms: rest, history } = merged ?? {};
    return [
      state,
      rest,
      history?.last_5_minutes.attempts,
      history?.half_hours.findLastIndex((one: Json) => one.failed > 0),
    ];
  };
  assert.deepEqual(at(0), ['open', 60_000, 5, 47]);
  assert.deepEqual(at(20_000), ['open', 40_000, 5, 47]);
  assert.deepEqual(at(61_000), ['half-open', undefined, 5, 47]);
  assert.deepEqual(at(3 * HALF_HOUR_MS), ['half-open', undefined, 0, 44]);
  assert.deepEqual(at(0, true), ['closed', undefined, 5, 47]);
});

test('a snapshot has a bounded length, and the endpoints that were used last', () => {
  const rows = Array.from({ length: 5000 }, (_, index) =>
    row(`a/m${index}`, { minutes: index < 4990 ? [] : [1, 0], half_hours: [...new Array(90).fill(0), 1, 0] }),
  );
  const text = snapshotOf(rows);
  assert.ok(Buffer.byteLength(text) < 66_000, `${text.length}`);
  const kept = readSnapshot(text) ?? [];
  assert.deepEqual(
    kept.slice(0, 10).map(({ endpoint }) => endpoint),
    rows.slice(-10).map(({ endpoint }) => endpoint),
  );
  assert.equal(readSnapshot('{"form":2,"rows":[]}'), undefined);
});
