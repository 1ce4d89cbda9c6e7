/** What the upgrade tests share: an upstream, a receiver, a configuration, and what must hold at the end. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import { answer } from '../cli/two-workers.ts';
import { answerEvents, startUpstream } from '../gateway/harness.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';
import type { Load } from './load.ts';

const CA = join(import.meta.dirname, '../net/fixtures/test-only-ca.pem');
const UPSTREAM_DELAY_MS = 20;
const LONGEST_WAIT_MS = 90_000;
const BETWEEN_LOOKS_MS = 200;

export const KEY = 'sk-test-upgrade-0123456789';

/** Writes `polygate.yaml` into the folder; `more` has its other members. */
export async function prepare(context: TestContext, folder: string, more = ''): Promise<Receiver> {
  const upstream = await startUpstream(async ({ body }, response) => {
    await pause(UPSTREAM_DELAY_MS);
    if (body.stream) answerEvents(response, STREAM);
    else answer(response);
  });
  const receiver = await startReceiver();
  context.after(() => Promise.all([upstream.close(), receiver.close()]));
  const config = `
server: { port: 0, drain: 1s }
keys: [{ name: plain, key: ${KEY} }]
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m, pricing: { prompt: "0.01", completion: "0.01" } }] }
callbacks: { secret: a-secret-of-the-upgrade, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }
${more}
`;
  writeFileSync(join(folder, 'polygate.yaml'), config);
  return receiver;
}

/** Every answer is recorded once; every video is made, recorded once, and told to its receiver. */
export async function expectAllDone(load: Load, receiver: Receiver): Promise<void> {
  const statuses = () =>
    Promise.all(load.videos.map(async (id): Promise<Json> => (await load.ask('GET', `/v1/videos/${id}`)).status));
  await eventually(async () => (await statuses()).every((status) => status === 'completed'), statuses);
  const told = () => new Set(receiver.received.map(({ body }) => JSON.parse(String(body)).id));
  await eventually(
    async () => load.videos.every((id) => told().has(id)),
    async () => [...told()],
  );
  const records = async () => {
    const { data }: Json = await load.ask('GET', '/v1/usage?by=model');
    return Object.fromEntries(data.map(({ model, requests }: Json) => [model, requests]));
  };
  const expected = { 'a/m': load.answered, 'sandbox/video': load.videos.length };
  await eventually(async () => {
    const found = await records();
    return Object.entries(expected).every(([model, requests]) => found[model] >= requests);
  }, records);
  assert.deepEqual(await records(), expected);
}

/** Sums by status are whole, although the release writes none. */
export async function expectPartsOfBoth(load: Load): Promise<void> {
  const { data, total }: Json = await load.ask('GET', '/v1/self/usage?by=status');
  const requests = new Map<string | null, number>(data.map((row: Json) => [row.status, row.requests]));
  assert.deepEqual(new Set(requests.keys()), new Set(['completed', null]));
  assert.equal(
    [...requests.values()].reduce((sum, count) => sum + count),
    load.answered + load.videos.length,
  );
  assert.equal(total.requests, load.answered + load.videos.length);
}

async function eventually(condition: () => Promise<boolean>, state: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + LONGEST_WAIT_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) assert.fail(`it did not come to that: ${JSON.stringify(await state())}`);
    await pause(BETWEEN_LOOKS_MS);
  }
}

const CHUNK = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
const STREAM = [
  { ...CHUNK, choices: [{ index: 0, delta: { role: 'assistant', content: 'Yes.' }, finish_reason: null }] },
  { ...CHUNK, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { ...CHUNK, choices: [], usage: { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 } },
]
  .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
  .concat('data: [DONE]\n\n')
  .join('');
