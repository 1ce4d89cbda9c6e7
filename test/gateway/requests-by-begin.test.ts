/** Requests by the time at which they began, as the sums of usage count them, on both engines. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { moneyOf } from '../../src/core/money.ts';
import { createManualClock, type ManualClock } from '../jobs/manual-clock.ts';
import { providePostgres, type TestDatabase } from '../store/postgres-server.ts';
import { ADMIN_CONFIG, askAdmin } from './admin-client.ts';
import { answerJson, KEY, post, sendRaw, startTestGateway, startUpstream, type TestGateway } from './harness.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const FROM = Date.parse('2026-03-04T10:00:00Z');
const TO = FROM + HOUR_MS;
const iso = (at: number) => new Date(at).toISOString();
const SPAN = { from: iso(FROM), to: iso(TO) };
const BEGAN = { started_from: SPAN.from, started_to: SPAN.to };

/** By when each begins, and how long its answer takes. */
const REQUESTS = {
  before: { at: FROM - 30 * MINUTE_MS, takes: MINUTE_MS },
  acrossFrom: { at: FROM - MINUTE_MS, takes: 2 * MINUTE_MS },
  atFrom: { at: FROM, takes: MINUTE_MS },
  acrossTo: { at: TO - MINUTE_MS, takes: 2 * MINUTE_MS },
  after: { at: TO + 80 * MINUTE_MS, takes: MINUTE_MS },
};
type Name = keyof typeof REQUESTS;

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(engine, () => {
    const ids = {} as Record<Name, string>;
    let clock: ManualClock;
    let gateway: TestGateway;
    let database: TestDatabase | undefined;
    let upstream: Awaited<ReturnType<typeof startUpstream>>;
    let takes = 0;

    before(async () => {
      clock = createManualClock(FROM - HOUR_MS);
      database = engine === 'postgres' ? await providePostgres() : undefined;
      upstream = await startUpstream((_call, response) => {
        clock.advance(takes);
        answerJson(response, {
          ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm' },
          choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
        });
      });
      const model = '{ id: m, pricing: { prompt: "0.000001", completion: "0.000002" } }';
      gateway = await startTestGateway(
        `${ADMIN_CONFIG}
providers: { one: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [${model}] } }`,
        { clock, ...(database && { postgres: database.url }) },
      );
      for (const [name, request] of Object.entries(REQUESTS)) {
        clock.advance(request.at - clock.now());
        takes = request.takes;
        const messages = [{ role: 'user', content: 'hi' }];
        const authorization = `Bearer ${KEY}`;
        const response = await post(
          `${gateway.url}/v1/chat/completions`,
          { model: 'one/m', messages },
          { authorization },
        );
        assert.equal(response.status, 200, await response.text());
        ids[name as Name] = response.headers.get('x-polygate-request-id') ?? '';
      }
    });
    after(async () => {
      await gateway.close();
      await upstream.close();
      await database?.close();
    });

    const admin = async (path: string, query: Record<string, string>): Promise<Json> => {
      const { status, body } = await askAdmin(gateway.adminUrl, 'GET', `${path}?${new URLSearchParams(query)}`);
      assert.equal(status, 200, JSON.stringify(body));
      return body;
    };
    const self = async (path: string, query: Record<string, string>): Promise<string> => {
      const headers = { authorization: `Bearer ${KEY}` };
      const { status, text } = await sendRaw(gateway.url, {
        ...{ method: 'GET', path: `/v1/self${path}?${new URLSearchParams(query)}`, headers },
      });
      assert.equal(status, 200, text);
      return text;
    };
    const namesOf = (rows: readonly Json[]) =>
      rows.map(({ id }) => Object.keys(ids).find((name) => ids[name as Name] === id));

    for (const filter of [{}, { model: 'one/m' }, { key: 'config:test' }] as Record<string, string>[]) {
      test(`those of a span are the ones that its sums count, with ${JSON.stringify(filter)}`, async () => {
        const { total } = await admin('/usage', { ...SPAN, ...filter });
        const { data } = await admin('/requests', { ...BEGAN, ...filter });
        assert.deepEqual(namesOf(data), ['acrossTo', 'atFrom']);
        assert.equal(total.requests, data.length);
        const cost = data.reduce((sum: bigint, one: Json) => sum + moneyOf(one.cost), 0n);
        assert.equal(moneyOf(total.cost), cost);
        assert.deepEqual(namesOf((await admin('/requests', { ...SPAN, ...filter })).data), ['atFrom', 'acrossFrom']);
      });
    }

    test('one end of the span is enough, and pages go on by the end of requests', async () => {
      const since = await admin('/requests', { started_from: SPAN.from });
      assert.deepEqual(namesOf(since.data), ['after', 'acrossTo', 'atFrom']);
      const until = await admin('/requests', { started_to: SPAN.to, limit: '3' });
      assert.deepEqual(namesOf(until.data), ['acrossTo', 'atFrom', 'acrossFrom']);
      const rest = await admin('/requests', { started_to: SPAN.to, limit: '3', after: until.next });
      assert.deepEqual(namesOf(rest.data), ['before']);
    });

    test('the summary, conversations and the file are of the same requests, also for the holder of the key', async () => {
      const { data } = await admin('/requests/summary', BEGAN);
      assert.deepEqual([data.requests, data.complete, data.from, data.to], [2, true, SPAN.from, SPAN.to]);
      assert.deepEqual(JSON.parse(await self('/requests/summary', BEGAN)).data.requests, 2);
      assert.deepEqual(namesOf(JSON.parse(await self('/requests', BEGAN)).data), ['acrossTo', 'atFrom']);
      const lines = (await self('/requests', { ...BEGAN, format: 'csv' })).trim().split('\r\n').slice(1);
      assert.deepEqual(
        lines.map((line) => line.split(',')[0]),
        [ids.acrossTo, ids.atFrom],
      );
      assert.deepEqual((await admin('/requests/sessions', BEGAN)).data, []);
    });

    test('wrong times are refused by name', async () => {
      for (const [query, words] of [
        ['started_from=then', /started_from/],
        ['started_to=then', /started_to/],
        [`started_from=${SPAN.to}&started_to=${SPAN.from}`, /started_from must be before started_to/],
        [`started_from=${SPAN.from}&open=true`, /started_from must not come with open/],
      ] as const) {
        const { status, body } = await askAdmin(gateway.adminUrl, 'GET', `/requests?${query}`);
        assert.equal(status, 400, query);
        assert.match(body.error.message, words);
      }
    });
  });
}
