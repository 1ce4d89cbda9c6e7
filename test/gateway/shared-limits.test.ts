/** Three gateways on one database: a key's limits and budgets are shared by them, not multiplied. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { systemClock } from '../../src/core/clock.ts';
import type { Json } from '../../src/core/json/json.ts';
import { providePostgres } from '../store/postgres-server.ts';
import {
  answerJson,
  post,
  question,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

const KEYS = { often: 'sk-test-often-0123456789', rich: 'sk-test-rich-0123456789' };
/** A token costs a cent, and an answer has five. */
const PRICE = '0.01';
const USAGE = { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 };
const BUDGET = 1;

let database: Awaited<ReturnType<typeof providePostgres>>;
let upstream: TestUpstream;
let gateways: TestGateway[];

before(async () => {
  database = await providePostgres();
  upstream = await startUpstream((_call, response) => {
    const message = { role: 'assistant', content: 'Yes.' };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage: USAGE });
  });
  const yaml = `
encryption: { key: "${randomBytes(32).toString('base64')}" }
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m, pricing: { prompt: "${PRICE}", completion: "${PRICE}" } }] }
`;
  const keys = [
    `{ name: often, key: ${KEYS.often}, limits: { requests_per_minute: 30 } }`,
    `{ name: rich, key: ${KEYS.rich}, budgets: { total: "${BUDGET}.00" } }`,
  ];
  // A minute that has just begun does not end amid the test.
  const now = Date.now() - (Date.now() % 60_000) + 1000;
  const clock = { ...systemClock, now: () => now };
  const start = () => startTestGateway(yaml, { postgres: database.url, keys, clock });
  gateways = [await start(), await start(), await start()];
});

after(async () => {
  await Promise.all(gateways.map((gateway) => gateway.close()));
  await upstream.close();
  await database.close();
});

function askAt(index: number, key: string): Promise<Response> {
  const { url } = gateways[index % gateways.length] as TestGateway;
  const body = { ...question('chat', 'a/m', 'Hi'), max_tokens: 3 };
  return post(`${url}/v1/chat/completions`, body, { authorization: `Bearer ${key}` });
}

async function statuses(responses: Promise<Response>[]): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const response of await Promise.all(responses)) {
    await response.text();
    counts[response.status] = (counts[response.status] ?? 0) + 1;
  }
  return counts;
}

describe('three gateways on one database', () => {
  test('let a key ask as often as one gateway would', async () => {
    const responses = Array.from({ length: 90 }, (_, index) => askAt(index, KEYS.often));
    assert.deepEqual(await statuses(responses), { 200: 30, 429: 60 });
  });

  test('let a key spend its budget once, and all know what it used', async () => {
    let answered = 0;
    for (let round = 0; round < 10; round++) {
      const counts = await statuses(Array.from({ length: 6 }, (_, index) => askAt(index, KEYS.rich)));
      answered += counts[200] ?? 0;
      assert.deepEqual(
        Object.keys(counts).filter((status) => !['200', '402'].includes(status)),
        [],
      );
    }
    const costs = await Promise.all(
      gateways.map(async ({ url }) => {
        const response = await fetch(`${url}/v1/usage`, { headers: { authorization: `Bearer ${KEYS.rich}` } });
        const use = (await response.json()) as Json;
        return Number(use.total.cost);
      }),
    );
    assert.ok(answered > 0);
    for (const cost of costs) {
      assert.ok(Math.abs(cost - answered * 0.05) < 1e-9, `${cost} for ${answered}`);
      assert.ok(cost <= BUDGET, `${cost}`);
    }
  });
});

test('what a gateway has spent and cannot write down is not spent again by another', async (context) => {
  const shared = await providePostgres();
  const answerer = await startUpstream((_call, response) => {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }];
    const usage = { prompt_tokens: 2, completion_tokens: 60, total_tokens: 62 };
    answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage });
  });
  const yaml = `
encryption: { key: "${randomBytes(32).toString('base64')}" }
providers:
  a: { type: openai-compatible, base_url: "${answerer.url}/v1", models: [{ id: m, pricing: { prompt: "${PRICE}", completion: "${PRICE}" } }] }
`;
  // Holds that nobody uses are released at once.
  const after: typeof systemClock.after = (milliseconds, ...rest) =>
    systemClock.after(milliseconds === 2000 ? 50 : milliseconds, ...rest);
  const keys = [`{ name: rich, key: ${KEYS.rich}, budgets: { total: "${BUDGET}.00" } }`];
  const start = () => startTestGateway(yaml, { postgres: shared.url, keys, clock: { ...systemClock, after } });
  const both = [await start(), await start()] as const;
  const database = new Client({ connectionString: shared.url });
  await database.connect();
  context.after(async () => {
    await database.end();
    await Promise.all(both.map((gateway) => gateway.close()));
    await answerer.close();
    await shared.close();
  });
  const askIn = async ({ url }: TestGateway) => {
    const body = { ...question('chat', 'a/m', 'Hi'), max_tokens: 60 };
    const response = await post(`${url}/v1/chat/completions`, body, { authorization: `Bearer ${KEYS.rich}` });
    await response.text();
    return response.status;
  };
  await database.query(`CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER no_room BEFORE INSERT ON budget FOR EACH ROW EXECUTE FUNCTION no_room()`);
  assert.equal(await askIn(both[0]), 200);
  await delay(500);
  assert.equal(await askIn(both[1]), 402);
  await database.query('DROP TRIGGER no_room ON budget');
  await delay(500);
  assert.equal(await askIn(both[1]), 402);
});
