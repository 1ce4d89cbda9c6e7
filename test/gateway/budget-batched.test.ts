/** A budget is not overdrawn by what is spent and not yet written down. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerJson, startTestGateway, startUpstream } from './harness.ts';
import { hear } from './usage-client.ts';

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
