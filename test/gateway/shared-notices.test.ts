/** Notices of several gateways on one PostgreSQL database: each is sent once, whichever gateway finds the reason. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import { verifyWebhook } from '../../src/webhooks/verify.ts';
import { WIRES } from '../faults/wires.ts';
import { createManualClock, type ManualClock } from '../jobs/manual-clock.ts';
import { providePostgres, type TestDatabase } from '../store/postgres-server.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { ADMIN_CONFIG, askAdmin } from './admin-client.ts';
import { answerJson, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from './harness.ts';
import { hear } from './usage-client.ts';

const SECRET = 'a-secret-of-all-gateways-0123456789';
const CA = join(import.meta.dirname, '../net/fixtures/test-only-ca.pem');
const SPENDER = 'sk-test-spender-0123456789';
const GATEWAYS = 2;
const LOOK_MS = 30_000;
const BEHIND_MS = 6 * 3_600_000;
/** Real time for what a look causes. */
const TURN_MS = 100;

let database: TestDatabase;
let upstream: TestUpstream;
let receiver: Receiver;
let gateways: TestGateway[];
/** Far behind the server's clock, by which deliveries are due. */
let clocks: ManualClock[];

before(async () => {
  database = await providePostgres();
  upstream = await startUpstream((_, response) => answerJson(response, WIRES.chat.whole));
  receiver = await startReceiver();
  // 1 input and 2 output tokens: 2 USD an answer.
  const yaml = `
${ADMIN_CONFIG}
encryption: { key: "${randomBytes(32).toString('base64')}" }
callbacks: { secret: ${SECRET}, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }
notices: { webhook: "https://127.0.0.1:${receiver.port}/notices", at: [0.5, 1.0] }
tags: { team=search: { budgets: { month: "16" } } }
providers:
  a:
    type: openai-compatible
    base_url: "${upstream.url}/v1"
    models: [{ id: m, pricing: { prompt: "0", completion: "1" } }]
`;
  const now = Date.now() - BEHIND_MS;
  clocks = Array.from({ length: GATEWAYS }, () => createManualClock(now));
  const keys = [`{ name: spender, key: ${SPENDER}, tags: { team: search }, budgets: { total: "8" } }`];
  gateways = await Promise.all(clocks.map((clock) => startTestGateway(yaml, { postgres: database.url, keys, clock })));
});
after(async () => {
  await Promise.all(gateways.map((gateway) => gateway.close()));
  await receiver.close();
  await upstream.close();
  await database.close();
});

const told = () =>
  receiver.received
    .map(({ headers, body }): Json => verifyWebhook(body, headers, SECRET))
    .map(({ data: { key, tag, share, spent, budget } }) => [tag ?? key.name, share, spent, budget].join(' '))
    .sort();

/** Asks again while another gateway holds what is left of a budget. */
async function spendAt(index: number): Promise<void> {
  const { url } = gateways[index] as TestGateway;
  const asked = { protocol: 'chat', model: 'a/m', text: 'Hi', key: SPENDER, more: { max_tokens: 2 } } as const;
  while ((await hear(url, asked)).status !== 200) await look();
}

/** One look of each gateway, and time for what it causes. */
async function look(): Promise<void> {
  for (const clock of clocks) clock.advance(LOOK_MS);
  await pause(TURN_MS);
}

async function lookUntil(count: number): Promise<void> {
  while (receiver.received.length < count) await look();
}

test('a share of a budget that two gateways spend together is told once', async () => {
  await spendAt(0);
  for (let count = 0; count < 3; count++) await look();
  assert.deepEqual(told(), []);
  await spendAt(1);
  await lookUntil(1);
  assert.deepEqual(told(), ['spender 0.5 4 8']);
  await spendAt(0);
  await spendAt(1);
  await lookUntil(3);
  for (let count = 0; count < 5; count++) await look();
  assert.deepEqual(told(), ['spender 0.5 4 8', 'spender 1 8 8', 'team=search 0.5 8 16']);
  for (const { adminUrl } of gateways) {
    const { body } = await askAdmin(adminUrl, 'GET', '/deliveries?key=gateway');
    assert.equal(body.data.length, 3);
  }
});
