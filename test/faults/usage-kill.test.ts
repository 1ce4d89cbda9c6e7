/** A gateway is killed under load: what its upstream served and what it recorded are the same, request by request. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import {
  HEADERS,
  KEY,
  PATHS,
  type ProtocolId,
  post,
  question,
  startUpstream,
  type TestUpstream,
} from '../gateway/harness.ts';
import { get, recordOf } from '../gateway/usage-client.ts';
import { gatewayProgram, killAmid } from './kill.ts';
import { WIRES } from './wires.ts';

const PROTOCOLS = Object.keys(PATHS) as ProtocolId[];
const ROUNDS = 2;
const CLIENTS = 12;
/** Answers in one piece and streams that are complete; then as many streams that never end. */
const COMPLETE = 30;

let upstream: TestUpstream;
let served = 0;
const hanging = new Set<ServerResponse>();

before(async () => {
  upstream = await startUpstream((call, response) => {
    served += 1;
    const wire = WIRES.chat;
    if (call.bytes.includes('hang')) {
      hanging.add(response.writeHead(200, { 'content-type': 'text/event-stream' }));
      response.write(wire.head);
    } else if (call.body.stream) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(wire.head + wire.tail);
    } else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(wire.whole));
  });
});

after(() => upstream.close());

function gatewayOf(context: TestContext): ReturnType<typeof gatewayProgram> {
  const gateway = gatewayProgram(context);
  writeFileSync(
    join(gateway.folder, 'polygate.yaml'),
    `keys: [{ name: test, key: ${KEY} }]
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m, pricing: { prompt: "0.001", completion: "0.001" } }] }
`,
  );
  return gateway;
}

interface Answer {
  id: string;
  complete: boolean;
}

/** One request; its id is known as soon as its response begins. */
async function send(url: string, index: number, text: string, onBegun?: (id: string) => void): Promise<Answer> {
  const protocol = PROTOCOLS[index % PROTOCOLS.length] as ProtocolId;
  const stream = text === 'hang' || index % 2 === 0;
  const body = question(protocol, 'a/m', text, stream);
  let response = await post(url + PATHS[protocol]('a/m', stream), body, HEADERS[protocol]);
  // A disk that is busy for more than a second.
  while (response.status === 503) {
    await response.arrayBuffer();
    response = await post(url + PATHS[protocol]('a/m', stream), body, HEADERS[protocol]);
  }
  assert.equal(response.status, 200);
  const id = String(response.headers.get('x-polygate-generation-id'));
  const reader = response.body?.getReader();
  await reader?.read();
  onBegun?.(id);
  try {
    while (!(await reader?.read())?.done);
    return { id, complete: true };
  } catch {
    return { id, complete: false };
  }
}

/** Requests until the gateway is gone; what was answered in full. */
async function sendUntilGone(url: string, completed: string[]): Promise<void> {
  for (let index = 0; ; index++) {
    try {
      const { id, complete } = await send(url, index, 'Hi');
      if (!complete) return;
      completed.push(id);
    } catch {
      return;
    }
  }
}

test('whatever an upstream served has a record, wherever the kill came', { timeout: 180_000 }, async (context) => {
  const { start } = gatewayOf(context);
  const before = served;
  const completed: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const gateway = await start();
    const clients = Array.from({ length: CLIENTS }, () => sendUntilGone(gateway.url, completed));
    const enough = COMPLETE * (round + 1);
    await killAmid(gateway, { context, clients, isEnough: () => completed.length >= enough });
  }
  const { url } = await start();
  const recorded = (await get(url, '/v1/usage')).body.total.requests;
  // One that was noted and not yet sent is recorded as interrupted, too.
  const unsent = recorded - (served - before);
  assert.ok(unsent >= 0 && unsent <= ROUNDS * CLIENTS, `${unsent}`);
  for (const id of completed) assert.equal((await recordOf(url, id)).status, 'completed');
});

test('records are what was served, through several kills', { timeout: 180_000 }, async (context) => {
  const { start } = gatewayOf(context);
  const before = served;
  const completed: string[] = [];
  const interrupted: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { url, signal, ended } = await start();
    let next = 0;
    const client = async (): Promise<void> => {
      while (next < COMPLETE) {
        const { id, complete } = await send(url, next++, 'Hi');
        assert.ok(complete);
        completed.push(id);
      }
    };
    const begun: Promise<void>[] = [];
    const ends = Array.from({ length: CLIENTS }, (_, index) => {
      const first = Promise.withResolvers<void>();
      begun.push(first.promise);
      return send(url, index, 'hang', (id) => {
        interrupted.push(id);
        first.resolve();
      });
    });
    await Promise.all([...Array.from({ length: CLIENTS }, client), ...begun]);
    signal('SIGKILL');
    await ended;
    for (const { complete } of await Promise.all(ends)) assert.equal(complete, false);
  }
  const { url } = await start();
  const { total } = (await get(url, '/v1/usage')).body;
  assert.equal(total.requests, served - before);
  assert.equal(served - before, completed.length + interrupted.length);
  for (const id of completed) assert.equal((await recordOf(url, id)).status, 'completed');
  for (const id of interrupted) {
    const record = await recordOf(url, id);
    assert.deepEqual([record.status, record.tokens_estimated], ['interrupted', true]);
    assert.ok(record.tokens_prompt > 0);
  }
});
