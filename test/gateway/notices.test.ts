/** Notices of a gateway to its operator: budgets of keys and tags, a store that cannot be written to, lost records. */

import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import { createStoreNotices } from '../../src/gateway/store-notices.ts';
import { verifyWebhook } from '../../src/webhooks/verify.ts';
import { WIRES } from '../faults/wires.ts';
import { createManualClock, type ManualClock } from '../jobs/manual-clock.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { ADMIN_CONFIG, askAdmin } from './admin-client.ts';
import { answerJson, KEY, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from './harness.ts';
import { hear } from './usage-client.ts';

const SECRET = 'a-secret-of-the-whole-gateway';
const CA = join(import.meta.dirname, '../net/fixtures/test-only-ca.pem');
const SPENDER = 'sk-test-spender-0123456789';
const LOOK_MS = 30_000;
const BEHIND_MS = 6 * 3_600_000;
const TAKES_RECORDS = ['storeJournalBatch', 'setAsideUsageRecord'];
/** The last question of a look to the store. */
const LAST_OF_LOOK = 'spentBySubjects';
/** Real time for what a look causes, and on a machine that is busy, where many looks were not enough. */
const TURN_MS = 100;
const LATE_TURN_MS = 1000;
const USUAL_LOOKS = 100;
const MOST_LOOKS = 200;
const LONGEST_LOOK_MS = 30_000;

let upstream: TestUpstream;
let receiver: Receiver;
let gateway: TestGateway;
let isWritable = true;
/** Whether the store refuses records of requests, and does not take them aside either. */
let isRefusing = false;
/** Far behind that of the thread which delivers webhooks, so that they are due there at once. */
let clock: ManualClock;
let refusals = 0;
let endedLooks = 0;

before(async () => {
  clock = createManualClock(Date.now() - BEHIND_MS);
  upstream = await startUpstream((_, response) => answerJson(response, WIRES.chat.whole));
  receiver = await startReceiver((response) => {
    refusals -= 1;
    response.writeHead(refusals >= 0 ? 503 : 204).end();
  });
  // 1 input and 2 output tokens: 2 USD an answer.
  gateway = await startTestGateway(
    `
${ADMIN_CONFIG}
callbacks: { secret: ${SECRET}, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }
notices: { webhook: "https://127.0.0.1:${receiver.port}/notices?token=t", at: [1.0, 0.5] }
tags: { team=search: { budgets: { month: "8" } } }
providers:
  a:
    type: openai-compatible
    base_url: "${upstream.url}/v1"
    models: [{ id: m, pricing: { prompt: "0", completion: "1" } }]
`,
    {
      clock,
      keys: [`{ name: spender, key: ${SPENDER}, tags: { team: search }, budgets: { total: "4" } }`],
      wrapStore: (inner) => ({
        ...inner,
        health: async () => (isWritable ? inner.health() : { writable: false, problem: 'full' }),
        call: async (name, parameters) => {
          if (isRefusing && TAKES_RECORDS.includes(name)) throw new Error('refused');
          const result = await inner.call(name, parameters);
          if (name === LAST_OF_LOOK) endedLooks += 1;
          return result;
        },
      }),
    },
  );
});
after(async () => {
  await gateway.close();
  await receiver.close();
  await upstream.close();
});

/** Notices so far, each once, with their signatures checked. */
function notices(): Json[] {
  const bodies = receiver.received.map(({ headers, body }) => {
    const notice = verifyWebhook(body, headers, SECRET);
    assert.equal(headers['x-service-idempotency-key'], notice.id);
    return notice;
  });
  return [...new Map(bodies.map((notice) => [notice.id, notice])).values()];
}

const budgetsTold = () =>
  notices()
    .filter(({ event }) => event === 'budget.reached')
    .map(({ data: { key, tag, period, share, spent, budget, ends_at: end } }) =>
      [tag ?? key.name, period, share, spent, budget, end === null].join(' '),
    )
    .sort();

/**
 * One look, and time for what it causes. While it sends a notice, time stands still: the clock would end the attempt although
 * the receiver has answered it, and a store that recovers then had no fault that was told.
 */
async function look(): Promise<void> {
  const earlier = endedLooks;
  clock.advance(LOOK_MS);
  for (let waited = 0; endedLooks === earlier && waited < LONGEST_LOOK_MS; waited += TURN_MS) await pause(TURN_MS);
  await pause(TURN_MS);
}

async function lookUntil(condition: () => boolean): Promise<void> {
  for (let looks = 0; !condition(); looks++) {
    assert.ok(looks < MOST_LOOKS, `not after ${looks} looks, with ${receiver.received.length} notices`);
    await look();
    if (looks > USUAL_LOOKS) await pause(LATE_TURN_MS);
  }
}

async function spend(key = SPENDER): Promise<void> {
  const heard = await hear(gateway.url, {
    ...{ protocol: 'chat', model: 'a/m', text: 'Hi', key },
    more: { max_tokens: 2 },
  });
  assert.equal(heard.status, 200, heard.text);
}

test('a share of a budget is told once, of keys and of tags, and of several reached shares the highest', async () => {
  await spend();
  await lookUntil(() => notices().length >= 1);
  assert.deepEqual(budgetsTold(), ['spender total 0.5 2 4 true']);
  await spend();
  await lookUntil(() => notices().length >= 3);
  const told = ['spender total 0.5 2 4 true', 'spender total 1 4 4 true', 'team=search month 0.5 4 8 false'];
  assert.deepEqual(budgetsTold(), told);
  for (let count = 0; count < 5; count++) await look();
  assert.deepEqual(budgetsTold(), told);
  assert.equal(receiver.received.length, 3);
  const { body } = await askAdmin(gateway.adminUrl, 'GET', '/deliveries?key=gateway');
  assert.equal(body.data.length, 3);
  assert.match(body.data[0].id, /^notice-budget-reached-[0-9a-f]{24}$/);
});

test('a store that cannot be written to is told past it, until that is acknowledged, and its recovery too', async () => {
  refusals = 2;
  isWritable = false;
  await look();
  const faults = () => notices().filter(({ event }) => event.startsWith('store.'));
  assert.deepEqual(faults(), [], 'one look is no fault');
  await lookUntil(() => refusals < 0);
  const attempts = receiver.received.filter(({ body }) => body.includes('store.failing'));
  assert.equal(attempts.length, 3);
  isWritable = true;
  await lookUntil(() => faults().length === 2);
  const [failing, recovered] = faults();
  assert.equal(failing.data.problem, 'The store cannot be written to.');
  assert.deepEqual([recovered.event, recovered.data.since], ['store.recovered', failing.data.since]);
});

test('lost usage records are told once, with their number since the last notice', async () => {
  const losses = () => notices().filter(({ event }) => event === 'usage.lost');
  isRefusing = true;
  await spend(KEY);
  await spend(KEY);
  await lookUntil(() => losses().length === 1);
  await spend(KEY);
  await lookUntil(() => losses().length === 2);
  for (let count = 0; count < 5; count++) await look();
  isRefusing = false;
  assert.deepEqual(
    losses().map(({ data }) => data),
    [2, 1].map((records) => ({ host: hostname(), records })),
  );
});

test('a store that fails again while its recovery is told is told as recovered later', async () => {
  let problem: string | undefined = 'full disk';
  let isAway = true;
  const told: string[] = [];
  const check = createStoreNotices({
    url: 'https://receiver.example',
    problem: async () => problem,
    async send({ id }) {
      told.push(id.replace(/-[^-]*$/, ''));
      return true;
    },
    async add({ id }) {
      if (isAway) throw new Error('full disk');
      told.push(id.replace(/-[^-]*$/, ''));
    },
    now: () => 0,
  });
  await check();
  await check();
  problem = undefined;
  await assert.rejects(check());
  isAway = false;
  await check();
  await check();
  assert.deepEqual(told, ['notice-store-failing', 'notice-store-recovered']);
});
