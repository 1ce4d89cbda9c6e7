/** Stored responses and conversations: large ones that are asked for again and again, and not read. */

import assert from 'node:assert/strict';
import { after, afterEach, before } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { WIRES } from '../faults/wires.ts';
import { answerJson, HEADERS, startUpstream, type TestUpstream } from '../gateway/harness.ts';
import { attack } from './attack.ts';
import { type MeasuredGateway, startMeasuredGateway } from './loop-measure.ts';
import { headOf, openClient, type RawClient } from './raw-client.ts';
import { memoryGrowth, startVictim, type Victim } from './victim.ts';

const MB = 1_000_000;
const TEXT_BYTES = 12 * MB;
const CLIENTS = 30;
/** What is promised, and what a busy machine may make of it. */
const HOLD_MS = 50;
const NOISE_MS = 25;
const KEYS = { hostile: 'sk-test-hostile-0123456789', other: 'sk-test-other-0123456789' };

let upstream: TestUpstream;
let victim: Victim;
let measured: MeasuredGateway;
const opened: RawClient[] = [];

before(async () => {
  upstream = await startUpstream((_call, response) => answerJson(response, WIRES.chat.whole));
  const provider = `{ type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }`;
  victim = await startVictim(`server: { body_memory: 64MiB }\nproviders: { a: ${provider} }`, {
    keys: [`{ name: hostile, key: ${KEYS.hostile} }`, `{ name: other, key: ${KEYS.other} }`],
  });
  measured = await startMeasuredGateway();
});

after(async () => {
  await victim.close();
  await measured.close();
  await upstream.close();
});

const TRIES = 5;

/** Makes an object of the API, and returns its id. A busy machine may store a response too late, and says so. */
async function make(
  key: string,
  path: string,
  body: Json,
  { tries = TRIES, at = victim }: { tries?: number; at?: Victim } = {},
): Promise<string> {
  const response = await fetch(at.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const made = (await response.json()) as Json;
  assert.equal(response.status, 200, JSON.stringify(made).slice(0, 300));
  return made.store === false && tries > 1 ? make(key, path, body, { tries: tries - 1, at }) : made.id;
}

afterEach(endAll);

async function endAll(): Promise<void> {
  const clients = opened.splice(0);
  for (const { socket } of clients) socket.destroy();
  await Promise.all(clients.map(({ closed }) => closed));
}

/** Asks for something, and reads no more than the begin of its answer. */
function askUnread(path: string, at = victim): RawClient {
  const client = openClient(at.url);
  client.socket.once('data', () => client.socket.pause());
  client.socket.write(headOf('GET', path, [`authorization: Bearer ${KEYS.hostile}`]));
  return client;
}

async function statusOf(key: string, path: string): Promise<number> {
  const response = await fetch(victim.url + path, { headers: { authorization: `Bearer ${key}` } });
  await response.arrayBuffer();
  return response.status;
}

const text = 'x'.repeat(TEXT_BYTES);
const large: Record<string, () => Promise<string>> = {
  'a response': async () =>
    `/v1/responses/${await make(KEYS.hostile, '/v1/responses', { model: 'a/m', input: 'Hi', instructions: text })}`,
  'a response as a stream': async () => `${await large['a response']?.()}?stream=true`,
  'the items of a conversation': async () => {
    const items = [{ type: 'message', role: 'user', content: text }];
    return `/v1/conversations/${await make(KEYS.hostile, '/v1/conversations', { items })}/items`;
  },
};

for (const [name, create] of Object.entries(large)) {
  attack(
    'stored',
    {
      by: 'key holder',
      attempt: `${name} of ${TEXT_BYTES / MB} MB, asked for ${CLIENTS} times and not read`,
      bound: '503 beyond half of the budget of bodies, others are served, under 350 MB',
    },
    async () => {
      const path = await create();
      const own = await make(KEYS.other, '/v1/responses', { model: 'a/m', input: 'Hi' });
      let statuses: (number | undefined)[] = [];
      const grown = await memoryGrowth(victim, async () => {
        for (let index = 0; index < CLIENTS; index++) opened.push(askUnread(path));
        statuses = await Promise.all(opened.map(({ status }) => status));
      });
      const held = statuses.filter((status) => status === 200).length;
      assert.ok(held > 0 && held <= 3, statuses.join(' '));
      assert.ok(
        statuses.every((status) => status === 200 || status === 503),
        statuses.join(' '),
      );
      assert.ok(grown < 350 * MB, `${grown}`);
      assert.equal(await statusOf(KEYS.other, `/v1/responses/${own}`), 200);
      await endAll();
      assert.equal(await statusOf(KEYS.hostile, path), 200);
      return `${held} held, ${Math.round(grown / MB)} MB`;
    },
  );
}

attack(
  'stored',
  {
    by: 'key holder',
    attempt: `a response of ${TEXT_BYTES / MB} MB, asked for ${CLIENTS} times at once, where there is memory for many`,
    bound: 'few are made at once: little more memory than what the clients have not taken',
  },
  async () => {
    const provider = `{ type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }`;
    const roomy = await startVictim(`server: { body_memory: 256MiB }\nproviders: { a: ${provider} }`, {
      keys: [`{ name: hostile, key: ${KEYS.hostile} }`],
    });
    try {
      const path = `/v1/responses/${await make(KEYS.hostile, '/v1/responses', { model: 'a/m', input: 'Hi', instructions: text }, { at: roomy })}`;
      let statuses: (number | undefined)[] = [];
      const grown = await memoryGrowth(roomy, async () => {
        for (let index = 0; index < CLIENTS; index++) opened.push(askUnread(path, roomy));
        statuses = await Promise.all(opened.map(({ status }) => status));
      });
      const held = statuses.filter((status) => status === 200).length;
      assert.ok(held >= 8 && held < CLIENTS, statuses.join(' '));
      const beside = grown - held * TEXT_BYTES;
      assert.ok(beside < 300 * MB, `${held} held, ${Math.round(beside / MB)} MB beside`);
      return `${held} held, ${Math.round(beside / MB)} MB beside`;
    } finally {
      await endAll();
      await roomy.close();
    }
  },
);

attack(
  'stored',
  {
    by: 'key holder',
    attempt: 'a response with instructions of 20 MB, read whole and as a stream',
    bound: `the event loop is held ${HOLD_MS} ms at most`,
  },
  async () => {
    const headers = { ...HEADERS.chat, 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'a/m', input: 'Hi', instructions: 'é"x'.repeat(3_900_000) });
    const response = await fetch(`${measured.url}/v1/responses`, { method: 'POST', headers, body });
    const { id } = (await response.json()) as Json;
    const held: number[] = [];
    for (const query of ['', '?stream=true']) {
      const { holdMs } = await measured.measure(
        async () => {
          const read = await fetch(`${measured.url}/v1/responses/${id}${query}`, { headers });
          assert.equal(read.status, 200);
          for await (const _chunk of read.body ?? []);
        },
        ({ holdMs }) => holdMs < HOLD_MS,
      );
      held.push(holdMs);
    }
    assert.ok(Math.max(...held) < HOLD_MS + NOISE_MS, `${held.join(' and ')} ms`);
    return `${held.map(Math.round).join(' and ')} ms`;
  },
);
