/** A gateway is killed while it runs background responses: each of them ends, and none is sent to its model twice. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import { type BackgroundClient, createBackgroundClient } from '../gateway/background-client.ts';
import { lastText } from '../gateway/responses-upstream.ts';
import { forEachStore } from '../store/stores.ts';
import { killAmid, responsesProgram } from './kill.ts';

const ROUNDS = 2;
/** Responses that are accepted in each round before the kill. */
const ROUND_RESPONSES = 40;
const OPEN = ['queued', 'in_progress'];

/** Requests one after the other until the gateway is gone. */
async function submit(client: BackgroundClient, name: string, accepted: Map<string, string>): Promise<void> {
  for (let number = 0; ; number++) {
    const input = `${name} ${number}`;
    try {
      const { status, body } = await client.create({ model: 'plain/m', input, store: true });
      if (status === 429) await pause(5);
      else {
        assert.equal(status, 200, JSON.stringify(body));
        accepted.set(body.id, input);
      }
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return;
    }
  }
}

forEachStore((engine) => {
  test(`what was accepted ends, and is sent once (${engine}) (checklist 113)`, {
    timeout: 240_000,
  }, async (context) => {
    const settings = `encryption: { key: "${Buffer.alloc(32, 7).toString('base64')}" }\nresponses: { max_background: 30 }\n`;
    const { start, upstream } = await responsesProgram(context, engine, { prefix: 'b', settings });
    upstream.beforeEnd = () => pause(Math.random() * 60);
    const accepted = new Map<string, string>();
    for (let round = 0; round < ROUNDS; round++) {
      const gateway = await start();
      const client = createBackgroundClient(() => gateway.url);
      const clients = ['a', 'b', 'c'].map((name) => submit(client, `${round}-${name}`, accepted));
      const enough = accepted.size + ROUND_RESPONSES + round;
      await killAmid(gateway, { context, clients, isEnough: () => accepted.size >= enough });
    }

    const { url, signal, ended } = await start();
    const client = createBackgroundClient(() => url);
    const outcomes: Record<string, number> = {};
    async function finished(id: string): Promise<Json> {
      for (;;) {
        const { status, body } = await client.request('GET', id);
        if (status !== 429) assert.equal(status, 200, JSON.stringify(body));
        if (status === 200 && !OPEN.includes(body.status)) return body;
        await pause(100);
      }
    }
    for (const [id, input] of accepted) {
      const { status, output, error } = await finished(id);
      outcomes[status] = (outcomes[status] ?? 0) + 1;
      if (status === 'completed') assert.equal(output[0].content[0].text, `You said: ${input}`);
      else assert.deepEqual([status, error.code], ['failed', 'server_error'], JSON.stringify(error));
    }
    assert.ok((outcomes.completed ?? 0) > 0 && (outcomes.failed ?? 0) > 0, JSON.stringify(outcomes));
    const sent = upstream.calls.map(({ body }) => lastText(body.input));
    assert.equal(new Set(sent).size, sent.length);
    signal('SIGTERM');
    await ended;
  });
});
