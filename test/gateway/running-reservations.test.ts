/** Running requests hold what they reserve of the budgets of their key and its tags, where these are shown. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { WIRES } from '../faults/wires.ts';
import { ADMIN_CONFIG, askAdmin } from './admin-client.ts';
import { answerJson, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from './harness.ts';
import { get, hear } from './usage-client.ts';

const KEY = 'sk-test-of-running-0123456789';

let upstream: TestUpstream;
let gateway: TestGateway;
let release: PromiseWithResolvers<void>;

before(async () => {
  release = Promise.withResolvers();
  upstream = await startUpstream(async (_call, response) => {
    await release.promise;
    answerJson(response, WIRES.chat.whole);
  });
  // 1 input and 2 output tokens: 2 USD an answer.
  const yaml = `
${ADMIN_CONFIG}key_defaults: { budgets: { total: "400" } }
tags: { team=search: { budgets: { day: "50" } } }
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m, pricing: { prompt: "0", completion: "1" } }] }
`;
  const keys = [`{ name: running, key: ${KEY}, tags: { team: search } }`];
  gateway = await startTestGateway(yaml, { keys });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

/** Held and left of a budget of the key and of its tag, wherever they are shown. */
async function shown(): Promise<{ ofKey: Json[]; ofTag: Json[] }> {
  const admin = async (path: string) => (await askAdmin(gateway.adminUrl, 'GET', path)).body;
  const [listed] = (await admin('/keys?name=running')).data;
  const one = (await admin(`/keys/${listed.hash}`)).data;
  const tag = (await admin('/tags/team%3Dsearch')).data;
  const [tagListed] = (await admin('/tags?search=team=search')).data;
  const own = (await get(gateway.url, '/v1/key', KEY)).body.data;
  const amounts = ({ spent, held, left }: Json) => ({ spent, held, left });
  for (const view of [listed, one, own]) assert.equal(view.held.total, view.effective.budgets.total.held);
  return {
    ofKey: [listed, one, own].map(({ effective }) => amounts(effective.budgets.total)),
    ofTag: [one.effective.tags['team=search'], own.tags['team=search'], tag, tagListed].map(({ budgets }) =>
      amounts(budgets.day),
    ),
  };
}

test('two running requests hold what they reserved, until they are charged', async () => {
  const more = { max_tokens: 3 };
  const asked = { protocol: 'chat', model: 'a/m', text: 'Hi', key: KEY, more } as const;
  const answers = [hear(gateway.url, asked), hear(gateway.url, asked)];
  while (upstream.calls.length < 2) await new Promise(setImmediate);
  const running = await shown();
  assert.deepEqual(running.ofKey, Array(3).fill({ spent: '0', held: '6', left: '394' }));
  assert.deepEqual(running.ofTag, Array(4).fill({ spent: '0', held: '6', left: '44' }));
  release.resolve();
  for (const answer of answers) assert.equal((await answer).status, 200);
  const over = await shown();
  assert.deepEqual(over.ofKey, Array(3).fill({ spent: '4', held: '0', left: '396' }));
  assert.deepEqual(over.ofTag, Array(4).fill({ spent: '4', held: '0', left: '46' }));
});
