/** A budget is not overdrawn by what is spent and not yet written down, nor by what was reserved in the period before. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { answerJson, startTestGateway, startUpstream } from './harness.ts';
import { get, hear } from './usage-client.ts';

const POOR = 'sk-batched-and-poor-0123456789';

test('records that gather count', async () => {
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }];
  const upstream = await startUpstream((_call, response) => answerJson(response, { id: 'c', choices, usage }));
  const gateway = await startTestGateway(
    `
usage: { durability: batched }
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m, pricing: { prompt: "0", completion: "2" } }] }
`,
    { keys: [`{ name: poor, key: ${POOR}, budgets: { day: "25" } }`] },
  );
  try {
    const wish = { protocol: 'chat', model: 'a/m', text: 'Hi', key: POOR, more: { max_tokens: 5 } } as const;
    const statuses: number[] = [];
    // 10 USD are reserved each time, 2 are spent.
    for (let count = 0; count < 10; count++) statuses.push((await hear(gateway.url, wish)).status);
    assert.deepEqual(statuses, [...Array(8).fill(200), 402, 402]);
  } finally {
    await gateway.close();
    await upstream.close();
  }
});

test('a request counts in the day in which it was reserved, also where that ended while the store was asked', async () => {
  let now = Date.UTC(2033, 4, 5, 23, 59, 59);
  const usage = { prompt_tokens: 1, completion_tokens: 5, total_tokens: 6 };
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }];
  const upstream = await startUpstream((_call, response) => answerJson(response, { id: 'c', choices, usage }));
  const gateway = await startTestGateway(
    `
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m, pricing: { prompt: "0", completion: "2" } }] }
`,
    {
      keys: [`{ name: poor, key: ${POOR}, budgets: { day: "25" } }`],
      clock: { ...systemClock, now: () => now },
      wrapStore: (store) => ({
        ...store,
        now: () => store.now(),
        call(name, parameters) {
          if (name === 'setHold') now = Math.max(now, Date.UTC(2033, 4, 6));
          return store.call(name, parameters);
        },
      }),
    },
  );
  try {
    const wish = { protocol: 'chat', model: 'a/m', text: 'Hi', key: POOR, more: { max_tokens: 5 } } as const;
    const spent = async () => (await get(gateway.url, '/v1/key', POOR)).body.data.effective.budgets.day.spent;
    assert.equal((await hear(gateway.url, wish)).status, 200);
    assert.equal(await spent(), '0');
    assert.deepEqual([(await hear(gateway.url, wish)).status, (await hear(gateway.url, wish)).status], [200, 200]);
    assert.equal(await spent(), '20');
  } finally {
    await gateway.close();
    await upstream.close();
  }
});
