/** A gateway is killed while keys spend the budget of their tag: what is spent afterwards is what they used, and no more than the budget. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { program } from '../cli/program.ts';
import { answerJson, startUpstream } from '../gateway/harness.ts';
import { get, hear } from '../gateway/usage-client.ts';
import { WIRES } from './wires.ts';

const KEYS = ['sk-test-search-one-0123456789', 'sk-test-search-two-0123456789'] as const;
const TAG = 'team=search';
const BUDGET = 60;

test('over a kill', { timeout: 120_000 }, async (context) => {
  let hanging = 0;
  const hold = Promise.withResolvers<void>();
  const upstream = await startUpstream((call, response) => {
    if (!call.bytes.includes('hang')) answerJson(response, WIRES.chat.whole);
    else if (++hanging === 2) hold.resolve();
  });
  context.after(() => upstream.close());
  const { folder, start } = program(context);
  const keys = KEYS.map((key, index) => `{ name: k${index}, key: ${key}, tags: { team: search } }`);
  // 1 input and 2 output tokens: 2 USD an answer.
  writeFileSync(
    join(folder, 'polygate.yaml'),
    `
server: { port: 0 }
keys: [${keys.join(', ')}]
tags: { ${TAG}: { budgets: { total: "${BUDGET}" } } }
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m, pricing: { prompt: "0.5", completion: "1" } }] }
`,
  );
  async function run() {
    const gateway = start(['serve']);
    const [, url = ''] = await gateway.shows(/listens on (http:\/\/\S+)/);
    const ask = (index: number, text = 'Hi') =>
      hear(url, { protocol: 'chat', model: 'a/m', text, key: KEYS[index % 2] as string, more: { max_tokens: 4 } });
    /** What the tag has spent, and what its keys used. */
    async function sums(): Promise<[tag: string, keys: number]> {
      const { data } = (await get(url, '/v1/key', KEYS[0])).body;
      const used = await Promise.all(
        KEYS.map(async (key) => Number((await get(url, '/v1/usage', key)).body.total.cost)),
      );
      return [data.tags[TAG].budgets.total.spent, used.reduce((sum, one) => sum + one, 0)];
    }
    return { gateway, ask, sums };
  }

  const before = await run();
  for (let index = 0; index < 3; index += 1) assert.equal((await before.ask(index)).status, 200);
  const lost = Array.from({ length: 2 }, (_, index) =>
    before.ask(index, 'hang').then(
      ({ text }) => assert.fail(text),
      () => undefined,
    ),
  );
  await Promise.race([Promise.all(lost), hold.promise]);
  before.gateway.signal('SIGKILL');
  await before.gateway.ended;
  await Promise.all(lost);

  const after = await run();
  const [spent, used] = await after.sums();
  // What was cut off counts with what is known of it.
  assert.ok(Number(spent) > 7.5, spent);
  assert.equal(Number(spent), used);
  let answered = 0;
  for (let refused = 0; refused < 4; ) {
    const answers = await Promise.all(Array.from({ length: 4 }, (_, index) => after.ask(index)));
    answered += answers.filter(({ status }) => status === 200).length;
    refused = answers.filter(({ status }) => status !== 200).length;
    for (const { status, text } of answers) assert.ok(status === 200 || (status === 402 && text.includes(TAG)), text);
  }
  const [end, usedAtEnd] = await after.sums();
  assert.equal(Number(end), usedAtEnd);
  assert.equal(Number(end), Number(spent) + answered * 2.5);
  assert.ok(answered > 0 && Number(end) <= BUDGET, end);
});
