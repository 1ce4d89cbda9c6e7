/** Fees of code that Claude runs, where the conversation defines one of the tools. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { WIRES } from '../faults/wires.ts';
import {
  answerJson,
  createPermits,
  HEADERS,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';
import { get, recordOf } from './usage-client.ts';

const KEY = 'sk-test-of-code-fees-0123456789';
const CODE = { type: 'code_execution_20250825', name: 'code_execution' };
const FETCH = { type: 'web_fetch_20260309', name: 'web_fetch' };
const CONTAINER = { id: 'container_1', expires_at: '2026-11-30T00:00:00Z' };
/** The price of a container; nothing else costs anything. */
const FEE = 0.5;

const permits = createPermits();
let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream(async (_, answer) => {
    await permits.take();
    answerJson(answer, { ...WIRES.messages.whole, container: CONTAINER });
  });
  const pricing = `{ prompt: "0", completion: "0", web_search: "0", container: "${FEE}" }`;
  gateway = await startTestGateway(
    `providers:\n  anthropic: { base_url: "${upstream.url}", api_key: k, models: [{ id: m, pricing: ${pricing} }] }\n`,
    { keys: [`{ name: capped, key: ${KEY}, budgets: { total: "10" } }`] },
  );
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const changeOf = (definition: Json): Json => ({
  ...{ type: 'tool_addition', tool: { type: 'tool_definition', definition } },
});
const summaryOf = (definition: Json): Json => ({
  ...{ type: 'compaction', content: '', tool_changes: [changeOf(definition)] },
});

const CASES: [what: string, tools: Json[], defined: Json[], held: number, cost: number][] = [
  ['in the list', [CODE], [], FEE, FEE],
  ['of the conversation', [], [changeOf(CODE)], FEE, FEE],
  ['of a summary', [], [summaryOf(CODE)], FEE, FEE],
  ['beside a fetch that filters', [CODE, FETCH], [], 0, 0],
  ['beside a fetch of the conversation', [CODE], [changeOf(FETCH)], 0, 0],
  ['of the conversation beside a fetch of a summary', [], [changeOf(CODE), summaryOf(FETCH)], 0, 0],
];

for (const [what, tools, defined, held, cost] of CASES)
  test(`code ${what} holds ${held} USD and costs ${cost}`, async () => {
    const before = upstream.calls.length;
    const messages = [
      { role: 'user', content: 'Hi' },
      ...defined.map((block) => ({ role: 'system', content: [block] })),
    ];
    const headers = { ...HEADERS.messages, 'x-api-key': KEY };
    const body = { model: 'anthropic/m', max_tokens: 10, messages, tools };
    const answering = post(`${gateway.url}/anthropic/v1/messages`, body, headers);
    let isOver = false;
    void answering.then(() => (isOver = true));
    while (upstream.calls.length === before && !isOver) await new Promise(setImmediate);
    const { data } = (await get(gateway.url, '/v1/key', KEY)).body;
    permits.give();
    const answer = await answering;
    assert.equal(answer.status, 200, await answer.text());
    assert.equal(Number(data.held.total), held);
    const record = await recordOf(gateway.url, String(answer.headers.get('x-polygate-generation-id')), KEY);
    assert.equal(record.total_cost, cost);
  });
