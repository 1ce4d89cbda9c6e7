/** A gateway is killed while it stores responses: what a client saw to its end is there, and nothing is there by half. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS, post } from '../gateway/harness.ts';
import { forEachStore } from '../store/stores.ts';
import { killAmid, responsesProgram } from './kill.ts';

const ROUNDS = 3;
const CLIENTS = 6;
/** Responses of each round before the kill. */
const ROUND_RESPONSES = 25;

/** Turns of one conversation until the gateway is gone; collects the ids of which the last event came. */
async function converse(url: string, name: string, promised: string[]): Promise<void> {
  const ids: string[] = [];
  for (let turn = 0; ; turn++) {
    const previous = ids.at(-1);
    const body = {
      ...{ model: 'plain/m', input: `${name} says ${turn}: ${'x'.repeat(turn % 5 === 0 ? 9000 : 50)}` },
      ...{ stream: turn % 3 !== 0, ...(previous && { previous_response_id: previous }) },
    };
    try {
      const response = await post(`${url}/v1/responses`, body, HEADERS.chat);
      const text = await response.text();
      assert.equal(response.status, 200, text);
      const id = body.stream
        ? /event: response\.completed\ndata: .*?"response":\{"id":"([^"]+)"/.exec(text)?.[1]
        : JSON.parse(text).id;
      if (id === undefined) return;
      ids.push(id);
      promised.push(id);
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return;
    }
  }
}

forEachStore((engine) => {
  test(`what was promised outlives kills (${engine})`, { timeout: 240_000 }, async (context) => {
    const { start, upstream } = await responsesProgram(context, engine, { prefix: 'r' });
    const promised: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const gateway = await start();
      const clients = Array.from({ length: CLIENTS }, (_, index) =>
        converse(gateway.url, `${round}-${index}`, promised),
      );
      const enough = promised.length + ROUND_RESPONSES + round * 7;
      await killAmid(gateway, { context, clients, isEnough: () => promised.length >= enough });
    }

    const { url, signal, ended } = await start();
    const get = async (path: string): Promise<Json> => {
      const response = await fetch(`${url}/v1/responses/${path}`, { headers: HEADERS.chat });
      if (response.status === 429) return pause(100).then(() => get(path));
      return { status: response.status, body: await response.json() };
    };
    for (const id of promised) {
      const { status, body } = await get(id);
      assert.deepEqual([status, body.id, body.status], [200, id, 'completed']);
      assert.equal(body.output.length, 1);
    }
    for (const id of promised.slice(-20)) {
      const items = await get(`${id}/input_items?order=asc&limit=100`);
      assert.equal(items.status, 200, JSON.stringify(items.body));
      assert.equal(items.body.data.length % 2, 1);
    }
    // Every response of the upstream is stored as a whole, or not at all.
    let found = 0;
    for (let number = 1; number <= upstream.count; number++) {
      const { status, body } = await get(`resp_r${number}`);
      if (status === 404) continue;
      found += 1;
      assert.deepEqual([status, body.status, body.output.length], [200, 'completed', 1]);
    }
    assert.ok(found >= promised.length);
    signal('SIGTERM');
    await ended;
  });
});
