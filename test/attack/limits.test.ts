/** Bursts against limits and budgets that have room for them, on PostgreSQL. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import {
  answerJson,
  post,
  question,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from '../gateway/harness.ts';
import { providePostgres } from '../store/postgres-server.ts';
import { attack } from './attack.ts';

const KEYS = { many: 'sk-test-many-0123456789', rich: 'sk-test-rich-0123456789' };
/** USD per token of output; input is free, so that the figures are exact. */
const PRICE = 0.001;

let database: Awaited<ReturnType<typeof providePostgres>>;
let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  database = await providePostgres();
  upstream = await startUpstream(async ({ body }, response) => {
    await pause(Math.random() * 50);
    const usage = { prompt_tokens: 1, completion_tokens: body.max_tokens, total_tokens: 1 + body.max_tokens };
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }];
    answerJson(response, { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage });
  });
  const yaml = `
encryption: { key: "${randomBytes(32).toString('base64')}" }
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m, pricing: { prompt: "0", completion: "${PRICE}" } }] }
`;
  const keys = [
    `{ name: many, key: ${KEYS.many}, limits: { concurrent_requests: 100 } }`,
    `{ name: rich, key: ${KEYS.rich}, budgets: { total: "10.00" } }`,
  ];
  gateway = await startTestGateway(yaml, { postgres: database.url, keys });
});

after(async () => {
  await gateway.close();
  await upstream.close();
  await database.close();
});

/** Statuses of so many requests at once, each of which may cost so many tokens. */
async function burst(count: number, key: string, tokens: number): Promise<number[]> {
  const body = { ...question('chat', 'a/m', 'Hi'), max_tokens: tokens };
  const send = () => post(`${gateway.url}/v1/chat/completions`, body, { authorization: `Bearer ${key}` });
  const responses = await Promise.all(Array.from({ length: count }, send));
  await Promise.all(responses.map((response) => response.text()));
  return responses.map(({ status }) => status);
}

attack(
  'limits',
  { by: 'key holder', attempt: '60 requests at once with concurrent_requests 100', bound: 'none is refused' },
  async () => {
    const refused = (await burst(60, KEYS.many, 1)).filter((status) => status !== 200);
    assert.deepEqual(refused, []);
    return '0 of 60 refused';
  },
);

attack(
  'limits',
  {
    by: 'key holder',
    attempt: '100 requests at once that fit into 8.98 of a budget of 10.00',
    bound: 'none is refused',
  },
  async () => {
    assert.deepEqual(await burst(1, KEYS.rich, 1020), [200]);
    const refused = (await burst(100, KEYS.rich, 89)).filter((status) => status !== 200);
    assert.deepEqual(refused, []);
    // 0.08 are left.
    assert.deepEqual(await burst(1, KEYS.rich, 81), [402]);
    assert.deepEqual(await burst(1, KEYS.rich, 80), [200]);
    return '0 of 100 refused';
  },
);
