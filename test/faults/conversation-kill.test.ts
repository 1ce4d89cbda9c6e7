/** A gateway is killed while responses are appended to conversations: a response and its items are there, or neither is. */

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
const ROUND_RESPONSES = 20;

interface Talk {
  conversation: string;
  /** Questions whose last event came. */
  promised: string[];
}

/** Turns of one conversation until the gateway is gone. */
async function converse(url: string, name: string, { conversation, promised }: Talk): Promise<void> {
  for (let turn = 0; ; turn++) {
    const input = `${name} asks ${turn}: ${'x'.repeat(turn % 5 === 0 ? 9000 : 50)}`;
    const stream = turn % 3 !== 0;
    const body = { model: 'plain/m', input, conversation, stream, store: turn % 4 !== 3 };
    try {
      const response = await post(`${url}/v1/responses`, body, HEADERS.chat);
      const text = await response.text();
      assert.equal(response.status, 200, text);
      if (stream && !text.includes('event: response.completed')) return;
      // A store that takes too long promises nothing.
      if (text.includes('"conversation":null')) continue;
      promised.push(input);
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return;
    }
  }
}

forEachStore((engine) => {
  test(`a response and its items in a conversation outlive kills together (${engine}) (checklist 114)`, {
    timeout: 240_000,
  }, async (context) => {
    const { start, upstream } = await responsesProgram(context, engine, { prefix: 'r' });
    const talks: Talk[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const gateway = await start();
      const begun: Talk[] = [];
      for (let index = 0; index < CLIENTS; index++) {
        const created = await post(`${gateway.url}/v1/conversations`, {}, HEADERS.chat);
        begun.push({ conversation: ((await created.json()) as Json).id, promised: [] });
      }
      talks.push(...begun);
      const clients = begun.map((talk, index) => converse(gateway.url, `${round}-${index}`, talk));
      const count = () => begun.reduce((sum, { promised }) => sum + promised.length, 0);
      const isEnough = () => count() >= ROUND_RESPONSES + round * 7;
      await killAmid(gateway, { context, clients, isEnough });
    }

    const { url, signal, ended } = await start();
    const get = async (path: string): Promise<Json> => {
      const response = await fetch(`${url}/v1/${path}`, { headers: HEADERS.chat });
      if (response.status === 429) return pause(100).then(() => get(path));
      return { status: response.status, body: await response.json() };
    };
    const stored = new Map<string, Json>();
    for (let number = 1; number <= upstream.count; number++) {
      const { status, body } = await get(`responses/resp_r${number}`);
      if (status === 200) stored.set(body.output[0].id, body);
    }
    const seen = new Set<string>();
    for (const { conversation, promised } of talks) {
      const items: Json[] = [];
      for (let after = ''; ; ) {
        const { status, body } = await get(`conversations/${conversation}/items?order=asc&limit=100${after}`);
        assert.equal(status, 200, JSON.stringify(body));
        items.push(...body.data);
        if (!body.has_more) break;
        after = `&after=${body.last_id}`;
      }
      const texts = items.map(({ content }) => content[0].text);
      const asked = texts.filter((_, index) => index % 2 === 0);
      // Every turn is there as a whole, in its order, and what was promised is among them.
      assert.deepEqual(
        texts,
        asked.flatMap((text) => [text, `You said: ${text}`]),
      );
      assert.deepEqual(asked.slice(0, promised.length), promised);
      assert.ok(asked.length <= promised.length + 1);
      for (const { id } of items) seen.add(id);
    }
    // No response is stored without its items.
    for (const [id, { conversation }] of stored) {
      assert.ok(seen.has(id), id);
      assert.ok(talks.some((talk) => talk.conversation === conversation.id));
    }
    // A conversation whose response was cut off goes on.
    const again = async (): Promise<void> => {
      const body = { model: 'plain/m', input: 'Still there?', conversation: talks.at(-1)?.conversation };
      const response = await post(`${url}/v1/responses`, body, HEADERS.chat);
      const { error }: Json = await response.json();
      if (response.status === 200) return;
      assert.equal(error.code, 'conversation_locked');
      return again();
    };
    await again();
    signal('SIGTERM');
    await ended;
  });
});
