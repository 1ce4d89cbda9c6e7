/** Bounds and secrecy of stored responses: retention, limits, encryption, and stores that fail. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import type { Json } from '../../src/core/json/json.ts';
import { parseEvents } from '../../src/core/sse.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { createManualClock, type ManualClock } from '../jobs/manual-clock.ts';
import { providePostgres, type TestDatabase } from '../store/postgres-server.ts';
import { forEachStore } from '../store/stores.ts';
import { createPermits, HEADERS, post, startTestGateway, type TestGateway } from './harness.ts';
import { messageOf, type ResponsesUpstream, startResponsesUpstream } from './responses-upstream.ts';

const DAY_MS = 24 * 3600 * 1000;
const ADMIN = 'admin-token-0123456789-0123456789';
const CANARY = 'a-canary-that-nobody-else-may-see';
const TABLES = [
  ...['stored_response', 'stored_name', 'stored_part', 'stored_part_use', 'stored_total'],
  ...['conversation', 'conversation_item'],
];

interface Answered {
  status: number;
  headers: Headers;
  body: Json;
}

async function answered(response: Response): Promise<Answered> {
  const text = await response.text();
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  const body = isStream ? JSON.parse(parseEvents(Buffer.from(text)).at(-1)?.data ?? '{}').response : JSON.parse(text);
  return { status: response.status, headers: response.headers, body };
}

forEachStore((engine) =>
  describe(engine, () => {
    let upstream: ResponsesUpstream;
    let gateway: TestGateway;
    let database: TestDatabase | undefined;
    let clock: ManualClock;
    /** What the store does instead of a call. */
    let instead: ((name: string) => Promise<unknown> | undefined) | undefined;

    /** Gets what the store returns. */
    let observe: ((result: unknown) => void) | undefined;

    async function start(responses: string, more = '', keys: string[] = []): Promise<void> {
      clock = createManualClock(Date.now());
      database = engine === 'postgres' ? await providePostgres() : undefined;
      gateway = await startTestGateway(
        `
admin: { token: "${ADMIN}", port: 0 }
responses: { ${responses} }
${more}
providers:
  plain: { type: open-responses, base_url: "${upstream.url}/v1", models: [{ id: m }] }
`,
        {
          ...{ clock, keys, ...(database && { postgres: database.url }) },
          wrapStore: (store): Store => ({
            ...store,
            now: clock.now,
            call: (async (name: never, parameters: never) => {
              const result = await (instead?.(name) ?? store.call(name, parameters));
              observe?.(result);
              return result;
            }) as Store['call'],
          }),
        },
      );
    }

    async function stop(): Promise<void> {
      instead = undefined;
      await gateway.close();
      await database?.close();
    }

    async function create(body: Json, key?: string): Promise<Answered> {
      const headers = key === undefined ? HEADERS.chat : { authorization: `Bearer ${key}` };
      return answered(await post(`${gateway.url}/v1/responses`, { model: 'plain/m', ...body }, headers));
    }

    async function get(id: string): Promise<Answered> {
      return answered(await fetch(`${gateway.url}/v1/responses/${id}`, { headers: HEADERS.chat }));
    }

    async function conversations(path = '', body?: Json, key?: string): Promise<Answered> {
      const headers = key === undefined ? HEADERS.chat : { authorization: `Bearer ${key}` };
      const url = `${gateway.url}/v1/conversations${path}`;
      return answered(body === undefined ? await fetch(url, { headers }) : await post(url, body, headers));
    }

    async function chain(length: number, text = (index: number) => `Text ${index}`): Promise<Answered[]> {
      const turns: Answered[] = [];
      for (let index = 0; index < length; index++) {
        const previous = turns.at(-1)?.body.id;
        turns.push(await create({ input: text(index), ...(previous && { previous_response_id: previous }) }));
      }
      return turns;
    }

    async function query(sql: string): Promise<Json[]> {
      if (!database) {
        const file = new DatabaseSync(join(gateway.folder, 'state.db'), { readOnly: true });
        const rows = file.prepare(sql).all();
        file.close();
        return rows;
      }
      const client = new Client({ connectionString: database.url });
      await client.connect();
      const { rows } = await client.query(sql);
      await client.end();
      return rows;
    }

    async function rowCounts(): Promise<number[]> {
      const counts: number[] = [];
      for (const table of TABLES) counts.push(Number((await query(`SELECT count(*) AS n FROM ${table}`))[0].n));
      return counts;
    }

    /** Lets the sweep, which has no answer, come to its end. */
    async function sweepUntil(isDone: () => Promise<boolean>): Promise<void> {
      for (let round = 0; round < 200; round++) {
        clock.advance(61_000);
        if (await isDone()) return;
        await pause(20);
      }
      assert.fail(`it did not happen: ${await rowCounts()}`);
    }

    const isEmpty = async () => (await rowCounts()).every((count) => count === 0);

    before(async () => {
      upstream = await startResponsesUpstream({ keeps: false, prefix: 'l' });
    });
    after(() => upstream.close());
    beforeEach(() => {
      Object.assign(upstream, { output: undefined, changes: {}, beforeEnd: undefined });
      upstream.calls.length = 0;
    });

    describe('retention', () => {
      before(() => start('keep: 2d'));
      after(stop);

      test('an expired response is unknown at once, and gone soon', async () => {
        const [first, second] = await chain(2, (index) => `${index} `.repeat(5000));
        clock.advance(1.9 * DAY_MS);
        const third = await create({ input: 'Three', previous_response_id: second?.body.id });
        assert.equal(third.status, 200);
        clock.advance(0.2 * DAY_MS);
        assert.equal((await get(first?.body.id)).status, 404);
        const later = await create({ input: 'Four', previous_response_id: third.body.id });
        assert.deepEqual([later.status, later.body.error.code], [400, 'previous_response_not_found']);
        assert.equal((await get(third.body.id)).status, 200);
        await sweepUntil(async () => (await rowCounts())[0] === 1);
        assert.equal((await get(third.body.id)).status, 200);
        clock.advance(2 * DAY_MS);
        await sweepUntil(isEmpty);
      });

      test('rows have ids that grow with time, so that indexes grow at their end', async () => {
        const started = clock.now();
        const { id: conversation } = (await conversations('', {})).body;
        for (let index = 0; index < 6; index++) {
          clock.advance(1);
          assert.equal((await create({ input: `Text ${index}`, conversation })).status, 200);
        }
        const times = async (sql: string) =>
          (await query(sql)).map(({ row_id: row }) => Number.parseInt(String(row).slice(0, 12), 16) - started);
        assert.deepEqual(await times('SELECT row_id FROM stored_response ORDER BY row_id'), [1, 2, 3, 4, 5, 6]);
        const items = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6];
        assert.deepEqual(await times('SELECT row_id FROM conversation_item ORDER BY row_id'), items);
        clock.advance(2.1 * DAY_MS);
        await sweepUntil(isEmpty);
      });

      test('a cancelled response is kept as others are, with store: false for 10 minutes', async () => {
        const permits = createPermits();
        upstream.beforeEnd = () => permits.take();
        const ids: string[] = [];
        for (const store of [true, false, undefined]) {
          const { body } = await create({ input: 'Later', background: true, store });
          for (const _call of ['first', 'again']) {
            const url = `${gateway.url}/v1/responses/${body.id}/cancel`;
            assert.equal((await answered(await post(url, {}, HEADERS.chat))).body.status, 'cancelled');
          }
          ids.push(body.id);
        }
        upstream.beforeEnd = undefined;
        const statuses = async () => (await Promise.all(ids.map(get))).map(({ status }) => status);
        clock.advance(9 * 60_000);
        assert.deepEqual(await statuses(), [200, 200, 200]);
        clock.advance(2 * 60_000);
        assert.deepEqual(await statuses(), [200, 404, 404]);
        clock.advance(2 * DAY_MS);
        assert.deepEqual(await statuses(), [404, 404, 404]);
      });

      test('a conversation expires some time after its last use, with its items', async () => {
        const items = [{ role: 'user', content: 'x'.repeat(9000) }];
        const [used, changed, left] = await Promise.all(
          [1, 2, 3].map(async () => (await conversations('', { items })).body.id),
        );
        clock.advance(1.9 * DAY_MS);
        assert.equal((await create({ input: 'Use it', conversation: used })).status, 200);
        assert.equal((await conversations(`/${changed}`, { metadata: {} })).status, 200);
        clock.advance(0.2 * DAY_MS);
        const statuses = [used, changed, left].map(async (id) => (await conversations(`/${id}/items`)).status);
        assert.deepEqual(await Promise.all(statuses), [200, 200, 404]);
        assert.equal((await create({ input: 'x', conversation: left })).status, 404);
        await sweepUntil(async () => (await rowCounts())[5] === 2);
        clock.advance(2 * DAY_MS);
        await sweepUntil(isEmpty);
      });

      test('responses and conversations of a revoked key go', async () => {
        const admin = (method: string, path: string, body?: Json) =>
          fetch(`${gateway.adminUrl}/admin/v1/keys${path}`, {
            method,
            headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' },
            ...(body && { body: JSON.stringify(body) }),
          });
        const made = (await (await admin('POST', '', { name: 'leaver' })).json()) as Json;
        assert.equal((await create({ input: 'x'.repeat(9000) }, made.key)).status, 200);
        assert.equal((await create({ input: 'One' })).status, 200);
        const items = [{ role: 'user', content: 'y'.repeat(9000) }];
        assert.equal((await conversations('', { items }, made.key)).status, 200);
        assert.deepEqual([(await rowCounts())[0], (await rowCounts())[5]], [2, 1]);
        const revoked = await admin('DELETE', `/${made.data.hash}`);
        assert.equal(revoked.status, 200, await revoked.text());
        await sweepUntil(async () => (await rowCounts())[0] === 1 && (await rowCounts())[5] === 0);
        assert.deepEqual((await rowCounts()).slice(2), [0, 0, 1, 0, 0]);
      });
    });

    describe('limits', () => {
      before(() => start('max_responses: 6, max_size: 1MiB, max_chain_items: 8, max_chain_size: 64KiB'));
      after(stop);

      test('the oldest responses of a key go first', async () => {
        const turns: Answered[] = [];
        for (let index = 0; index < 8; index++) {
          clock.advance(1);
          turns.push(await create({ input: `Text ${index}` }));
        }
        const statuses = await Promise.all(turns.map(async ({ body }) => (await get(body.id)).status));
        assert.deepEqual(statuses, [404, 404, 200, 200, 200, 200, 200, 200]);
        upstream.output = () => [messageOf('msg_short', 'Short')];
        for (let index = 0; index < 3; index++) {
          clock.advance(1);
          await create({ input: 'y'.repeat(400_000 + index) });
        }
        const [{ responses, bytes }] = await query('SELECT responses, bytes FROM stored_total');
        assert.ok(Number(bytes) <= 1024 * 1024 && Number(responses) >= 2, `${responses} with ${bytes}`);
      });

      test('a chain that is too long is refused by name, never cut', async () => {
        const turns = await chain(5);
        const last = turns.at(-1);
        assert.deepEqual([last?.status, turns.at(-2)?.status], [200, 200]);
        upstream.calls.length = 0;
        const { status, body } = await create({ input: 'More', previous_response_id: last?.body.id });
        assert.deepEqual(
          [status, body.error.code, body.error.param],
          [400, 'context_length_exceeded', 'previous_response_id'],
        );
        assert.match(body.error.message, /8 items/);
        const large = await create({ input: 'z'.repeat(70_000) });
        const next = await create({ input: 'More', previous_response_id: large.body.id });
        assert.deepEqual([next.status, next.body.error.code], [400, 'context_length_exceeded']);
        assert.equal(upstream.calls.length, 1);
      });

      test('a conversation that is too long is refused by name, and keeps what it has', async () => {
        const user = (content: string) => ({ role: 'user', content });
        const { id } = (await conversations('', { items: Array(7).fill(user('x')) })).body;
        const added = await conversations(`/${id}/items`, { items: [user('8'), user('9')] });
        assert.deepEqual(
          [added.status, added.body.error.code, added.body.error.param],
          [400, 'context_length_exceeded', 'items'],
        );
        // What a response makes is appended, although it is beyond the limit.
        assert.equal((await create({ input: 'More', conversation: id })).status, 200);
        const next = await create({ input: 'Too much', conversation: id });
        assert.deepEqual([next.body.error.code, next.body.error.param], ['context_length_exceeded', 'conversation']);
        assert.equal((await conversations(`/${id}/items?limit=100`)).body.data.length, 9);
        const large = (await conversations('', { items: [user('z'.repeat(60_000))] })).body;
        const more = await conversations(`/${large.id}/items`, { items: [user('z'.repeat(6000))] });
        assert.deepEqual([more.status, more.body.error.code], [400, 'context_length_exceeded']);
      });

      test('conversations count as responses, and the one that was not used for longest goes first', async () => {
        const ids: string[] = [];
        for (let index = 0; index < 7; index++) {
          clock.advance(1);
          ids.push((await conversations('', {})).body.id);
          clock.advance(1);
          if (index === 3) await create({ input: 'Use the first', conversation: ids[0], store: false });
        }
        const statuses = await Promise.all(ids.map(async (id) => (await conversations(`/${id}`)).status));
        assert.deepEqual(statuses, [200, 404, 200, 200, 200, 200, 200]);
        const [{ responses }] = await query('SELECT responses FROM stored_total');
        assert.equal(Number(responses), 6);
        clock.advance(1);
        for (let index = 0; index < 4; index++) {
          const items = [{ role: 'user', content: 'y'.repeat(300_000 + index) }];
          assert.equal((await conversations('', { items })).status, 200);
          clock.advance(1);
        }
        const [{ bytes }] = await query('SELECT bytes FROM stored_total');
        assert.ok(Number(bytes) <= 1024 * 1024, String(bytes));
      });

      test('an item that is referred to many times counts as often', async () => {
        upstream.output = (_body, number) => [messageOf(`msg_big_${number}`, 'w'.repeat(9000))];
        clock.advance(1);
        const first = await create({ input: 'Write much' });
        clock.advance(1);
        const reference = { type: 'item_reference', id: first.body.output[0].id };
        assert.equal((await create({ input: Array(6).fill(reference) })).status, 200);
        const { status, body } = await create({ input: Array(9).fill(reference) });
        assert.deepEqual([status, body.error.code], [400, 'context_length_exceeded']);
        const many = Array.from({ length: 9 }, (_, index) => ({ type: 'item_reference', id: `msg_${index}` }));
        assert.equal((await create({ input: many })).body.error.code, 'context_length_exceeded');
      });
    });

    describe('storage', () => {
      before(() => start('keep: 30d'));
      after(stop);

      test('what requests repeat is stored once', async () => {
        const tools = [{ type: 'function', name: 'f', description: 'd'.repeat(60_000), parameters: {} }];
        const instructions = 'i'.repeat(30_000);
        let previous: string | undefined;
        for (let index = 0; index < 12; index++) {
          const turn = await create({
            input: `${index}`,
            tools,
            instructions,
            ...(previous && { previous_response_id: previous }),
          });
          previous = turn.body.id;
          assert.deepEqual([turn.body.tools, turn.body.instructions], [tools, instructions]);
        }
        assert.deepEqual((await get(previous ?? '')).body.tools, tools);
        const [{ bytes }] = await query('SELECT bytes FROM stored_total');
        assert.ok(Number(bytes) < 120_000, String(bytes));
      });

      test('content is encrypted at rest, and in no log, metric or audit', async () => {
        upstream.output = () => [messageOf('msg_c', `${CANARY} answers`)];
        const secret = {
          ...{ input: [{ role: 'user', content: CANARY }], instructions: CANARY.repeat(300) },
          ...{ tools: [{ type: 'function', name: 'f', description: CANARY }], metadata: { note: CANARY } },
          client_metadata: { thread: CANARY },
        };
        const first = await create(secret);
        const second = await create({ ...secret, previous_response_id: first.body.id });
        await create({ input: [{ type: 'item_reference', id: 'msg_c' }] });
        await get(second.body.id);
        const items = [{ role: 'user', content: CANARY.repeat(300) }];
        const { id } = (await conversations('', { items, metadata: { note: CANARY } })).body;
        await create({ ...secret, conversation: id });
        assert.ok(JSON.stringify((await conversations(`/${id}/items`)).body).includes(CANARY));
        await conversations(`/${id}/items`, { items: [{ type: CANARY }] });
        await fetch(`${gateway.url}/v1/responses/${second.body.id}/input_items`, { headers: HEADERS.chat });
        await create({ input: CANARY, previous_response_id: 'resp_none' });
        assert.ok(JSON.stringify((await get(first.body.id)).body).includes(CANARY));
        assert.ok(!JSON.stringify(gateway.log).includes(CANARY), 'log');
        const metrics = await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${ADMIN}` } });
        assert.ok(!(await metrics.text()).includes(CANARY), 'metrics');
        for (const table of [...TABLES, 'audit', 'job']) {
          const rows = await query(`SELECT * FROM ${table}`);
          const text = rows.flatMap((row) =>
            Object.values(row).map((value) =>
              value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value),
            ),
          );
          assert.ok(!JSON.stringify(text).includes(CANARY), table);
        }
        for (const name of readdirSync(gateway.folder).filter((file) => /\.db/.test(file)))
          assert.ok(!readFileSync(join(gateway.folder, name)).includes(CANARY), name);
      });

      test('a store that fails costs no answer: the client is told that it is not stored', async () => {
        const before = gateway.log.length;
        instead = (name) =>
          name === 'putStoredResponse' ? Promise.reject(new StoreUnavailable('the disk is full')) : undefined;
        upstream.changes = { store: true };
        const whole = await create({ input: 'One' });
        const streamed = await create({ input: 'One', stream: true });
        instead = undefined;
        for (const { status, body } of [whole, streamed]) {
          assert.deepEqual([status, body.status, body.store], [200, 'completed', false]);
          assert.equal((await get(body.id)).status, 404);
        }
        assert.equal(whole.headers.get('x-polygate-dropped'), 'store');
        const lines = gateway.log.slice(before).filter(({ msg }) => /could not be stored/.test(msg));
        assert.equal(lines.length, 2);
        const metrics = await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${ADMIN}` } });
        assert.match(await metrics.text(), /^polygate_responses_not_stored_total 2$/m);
      });

      /** Nothing waits for it: the clock stands still. */
      async function released(id: string): Promise<void> {
        for (;;) {
          const [row] = await query(`SELECT holder FROM conversation WHERE id = '${id}'`);
          if (row.holder === null) return;
          await pause(10);
        }
      }

      test('a store that fails costs no answer in a conversation, which stays as it was', async () => {
        upstream.changes = { store: true };
        const { id } = (await conversations('', {})).body;
        const begun = gateway.log.length;
        for (const more of [{}, { store: false }]) {
          instead = (name) =>
            name === 'putStoredResponse' || name === 'appendTurn'
              ? Promise.reject(new StoreUnavailable('the disk is full'))
              : undefined;
          const whole = await create({ input: 'One', conversation: id, ...more });
          await released(id);
          const streamed = await create({ input: 'One', conversation: id, stream: true, ...more });
          await released(id);
          instead = undefined;
          for (const { status, body } of [whole, streamed])
            assert.deepEqual([status, body.status, body.store, body.conversation], [200, 'completed', false, null]);
          const dropped = 'store' in more ? 'conversation' : 'store, conversation';
          assert.equal(whole.headers.get('x-polygate-dropped'), dropped);
        }
        assert.deepEqual((await conversations(`/${id}/items`)).body.data, []);
        assert.equal(gateway.log.slice(begun).filter(({ msg }) => /could not be stored/.test(msg)).length, 4);
        assert.equal((await create({ input: 'Two', conversation: id })).body.conversation.id, id);
        assert.equal((await conversations(`/${id}/items`)).body.data.length, 2);
      });

      test('a store that hangs holds an answer for seconds, and what it stores then is deleted', async () => {
        const permits = createPermits();
        let isHeld = false;
        let late: Promise<unknown> | undefined;
        instead = (name) => {
          if (name !== 'putStoredResponse' || isHeld) return undefined;
          isHeld = true;
          late = permits.take();
          return late;
        };
        const asked = create({ input: 'One' });
        while (!isHeld) await pause(5);
        clock.advance(5000);
        const { body, headers } = await asked;
        assert.equal(headers.get('x-polygate-dropped'), 'store');
        const [{ n: before }] = await query('SELECT count(*) AS n FROM stored_response');
        permits.give();
        await late;
        instead = undefined;
        assert.equal((await get(body.id)).status, 404);
        const [{ n: afterwards }] = await query('SELECT count(*) AS n FROM stored_response');
        assert.equal(Number(afterwards), Number(before));
      });

      test('a client that leaves before the end has stored nothing', async () => {
        const permits = createPermits();
        upstream.beforeEnd = () => permits.take();
        const [{ n: before }] = await query('SELECT count(*) AS n FROM stored_response');
        const controller = new AbortController();
        const body = { model: 'plain/m', input: 'One', stream: true };
        const response = await post(`${gateway.url}/v1/responses`, body, HEADERS.chat, controller.signal);
        await response.body?.getReader().read();
        controller.abort();
        assert.equal(await upstream.calls[0]?.closed, 'aborted');
        permits.give();
        upstream.beforeEnd = undefined;
        await create({ input: 'Two' });
        const [{ n: afterwards }] = await query('SELECT count(*) AS n FROM stored_response');
        assert.equal(Number(afterwards), Number(before) + 1);
      });

      test('two turns on one response are two branches', async () => {
        const first = await create({ input: 'Root' });
        const next = (input: string) => create({ input, previous_response_id: first.body.id, stream: true });
        const branches = await Promise.all(['Left', 'Right', 'Middle'].map(next));
        for (const [index, { body }] of branches.entries()) {
          upstream.calls.length = 0;
          const { status } = await create({ input: 'Leaf', previous_response_id: body.id });
          assert.equal(status, 200);
          const texts = JSON.stringify(upstream.calls[0]?.body.input);
          for (const [other, word] of ['Left', 'Right', 'Middle'].entries())
            assert.equal(texts.includes(`You said: ${word}`), other === index);
        }
      });

      test('a response that is deleted while it is continued leaves the answer, and ends the chain', async () => {
        const first = await create({ input: 'Root' });
        const permits = createPermits();
        upstream.beforeEnd = () => permits.take();
        const asked = create({ input: 'Next', previous_response_id: first.body.id, stream: true });
        while (upstream.calls.length < 2) await pause(5);
        const deletion = await fetch(`${gateway.url}/v1/responses/${first.body.id}`, {
          ...{ method: 'DELETE', headers: HEADERS.chat },
        });
        assert.equal(deletion.status, 200);
        permits.give();
        upstream.beforeEnd = undefined;
        const { status, body } = await asked;
        assert.deepEqual([status, body.status], [200, 'completed']);
        assert.equal((await get(body.id)).status, 200);
        const last = await create({ input: 'More', previous_response_id: body.id });
        assert.deepEqual([last.status, last.body.error.code], [400, 'previous_response_not_found']);
        const items = await fetch(`${gateway.url}/v1/responses/${body.id}/input_items`, { headers: HEADERS.chat });
        assert.equal(items.status, 404);
      });
    });

    describe('a key whose minute is used up', () => {
      const HASTY = 'sk-one-chain-a-minute-0123456789';
      const called: string[] = [];
      before(async () => {
        const limits = '{ requests_per_minute: 2 }';
        await start('max_chain_items: 100', '', [`{ name: hasty, key: ${HASTY}, limits: ${limits} }`]);
        instead = (name) => void called.push(name);
      });
      after(stop);

      test('is refused before what it names is read or held', async () => {
        const { body: conversation } = await conversations('', {}, HASTY);
        const { body: first } = await create({ input: 'One' }, HASTY);
        await create({ input: 'Two', previous_response_id: first.id }, HASTY);
        assert.ok(called.includes('readStoredChain'));
        const [{ id: item }] = first.output;
        for (const named of [
          { previous_response_id: first.id },
          { previous_response_id: first.id, background: true },
          { conversation: conversation.id },
          { input: [{ type: 'item_reference', id: item }] },
        ]) {
          called.length = 0;
          const { status, headers, body } = await create({ input: 'More', ...named }, HASTY);
          assert.deepEqual([status, body.error.code], [429, 'rate_limit_exceeded'], JSON.stringify(named));
          assert.ok(Number(headers.get('retry-after')) > 0);
          assert.equal(headers.get('x-ratelimit-remaining-requests'), '0');
          assert.deepEqual(
            called.filter((name) => /Chain|Conversation|Item|Response/.test(name)),
            [],
          );
        }
        // A count is free.
        const url = `${gateway.url}/v1/responses/input_tokens`;
        const asked = { model: 'plain/m', input: 'More', previous_response_id: first.id };
        const counted = await answered(await post(url, asked, { authorization: `Bearer ${HASTY}` }));
        assert.equal(counted.status, 200, JSON.stringify(counted.body));
      });
    });

    describe('memory', () => {
      const TEXT = 'x'.repeat(1_500_000);
      /** Bytes of a result that need no memory of the budget. */
      const SMALL_BYTES = 128 * 1024;
      let largest = 0;

      function bytesIn(value: unknown): number {
        if (value instanceof Uint8Array) return value.length;
        if (typeof value !== 'object' || value === null) return 0;
        return Object.values(value).reduce((sum: number, member) => sum + bytesIn(member), 0);
      }

      before(async () => {
        await start('max_chain_size: 16MiB', 'server: { body_limit: 2MiB, body_memory: 4MiB }');
        observe = (result) => {
          largest = Math.max(largest, bytesIn(result));
        };
      });
      after(async () => {
        observe = undefined;
        await stop();
      });

      test('what has no room in the memory of bodies is not read', async () => {
        upstream.output = (_body, number) => [messageOf(`msg_${number}`, `${number}${TEXT}`)];
        const turns = await chain(3);
        const last = turns.at(-1)?.body.id;
        const { body: made } = await conversations('', {});
        const messages = [];
        for (const index of [0, 1, 2]) {
          const item = { type: 'message', role: 'user', content: `${index}${TEXT}` };
          messages.push((await conversations(`/${made.id}/items`, { items: [item] })).body.data[0].id);
        }
        const references = messages.map((id) => ({ type: 'item_reference', id }));
        upstream.output = () => [messageOf('msg_large', TEXT.repeat(3))];
        const { body: large } = await create({ input: 'Large' });
        const { body: accepted } = await create({ input: 'Later', background: true, previous_response_id: last });
        assert.equal(accepted.error.code, 'service_unavailable');
        upstream.output = undefined;
        // A request on its way, so that nothing that is larger than all memory has its turn.
        const { promise: held, resolve: release } = Promise.withResolvers<void>();
        upstream.beforeEnd = () => held;
        const before = upstream.calls.length;
        const holding = create({ input: 'Hold', instructions: TEXT.slice(0, 1_000_000) });
        while (upstream.calls.length === before) await pause(5);
        const calls = upstream.calls.length;
        largest = 0;
        const listed = (path: string) => fetch(gateway.url + path, { headers: HEADERS.chat }).then(answered);
        const asked: Record<string, () => Promise<Answered>> = {
          'a chain': () => create({ input: 'Next', previous_response_id: last }),
          'a conversation': () => create({ input: 'Next', conversation: made.id }),
          references: () => create({ input: references }),
          items: () => conversations(`/${made.id}/items`),
          'a response': () => get(large.id),
          'a response as a stream': () => listed(`/v1/responses/${large.id}?stream=true&starting_after=1`),
          'input items': () => listed(`/v1/responses/${last}/input_items`),
        };
        for (const [name, ask] of Object.entries(asked)) {
          const { status, headers, body } = await ask();
          assert.deepEqual([status, body.error.code], [503, 'service_unavailable'], name);
          assert.ok(Number(headers.get('retry-after')) > 0, name);
        }
        assert.equal(upstream.calls.length, calls);
        assert.ok(largest < SMALL_BYTES, `${largest} bytes`);
        release();
        upstream.beforeEnd = undefined;
        assert.equal((await holding).status, 200);
        // What has room is read, one after the other.
        const whole = await Promise.all(turns.map(({ body }) => get(body.id)));
        assert.ok(whole.some(({ status }) => status === 200));
        assert.ok(largest > TEXT.length);
        largest = 0;
        const deletion = await fetch(`${gateway.url}/v1/responses/${large.id}`, {
          ...{ method: 'DELETE', headers: HEADERS.chat },
        });
        assert.deepEqual([deletion.status, largest < SMALL_BYTES], [200, true]);
      });
    });

    describe('turned off', () => {
      before(() => start('store: false'));
      after(stop);

      test('nothing is stored, and references say what to do', async () => {
        const first = await create({ input: 'One', stream: true });
        assert.equal(upstream.calls[0]?.body.store, false);
        assert.equal(await isEmpty(), true);
        const { body } = await create({ input: [{ type: 'item_reference', id: 'msg_1' }] });
        assert.deepEqual([body.error.code, body.error.param], ['item_not_found', 'input[0].id']);
        assert.match(body.error.message, /set store to false/);
        assert.equal((await get(first.body.id)).status, 404);
        const other = await create({ input: 'x', store: true });
        assert.deepEqual([other.status, upstream.calls.at(-1)?.body.store], [200, false]);
      });
    });
  }),
);
