/** Reads of stored contents on PostgreSQL, each while what it reads is changed: the end of a response, new events, the deletion of an item. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { pino } from 'pino';
import { systemClock } from '../../src/core/clock.ts';
import type { Json } from '../../src/core/json/json.ts';
import type { ResponseStatus } from '../../src/records/stored-response.ts';
import { createCipher } from '../../src/security/cipher.ts';
import { Secret } from '../../src/security/secret.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import type { Transaction } from '../../src/store/operation.ts';
import { deleteConversationItem } from '../../src/store/operations/conversation-items.ts';
import { changeStoredResponse } from '../../src/store/operations/stored-responses.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { writingTransaction } from '../../src/store/postgres/transaction.ts';
import { addEvents } from '../../src/store/stored-rows.ts';
import { encodeContent } from '../../src/stored-responses/content.ts';
import { readTurn } from '../../src/stored-responses/conversation-turn.ts';
import { createItemSearch, unnamedItemId } from '../../src/stored-responses/items.ts';
import { createStoredResponses } from '../../src/stored-responses/service.ts';
import { providePostgres } from './postgres-server.ts';

const OPERATIONS = new URL('../../src/store/operations/index.ts', import.meta.url);
const ROW = '0'.repeat(32);
const LIMITS = { responses: 100, bytes: 2 ** 30 };
const cipher = createCipher([Buffer.alloc(32, 1)]);
const large = (letter: string): Json => ({ type: 'message', role: 'user', content: letter.repeat(5000) });

async function stage(context: TestContext) {
  const { url, close } = await providePostgres();
  const store = await openPostgres({ url: new Secret(url), operations: OPERATIONS, migrations: MIGRATIONS_FOLDER });
  const client = new Client({ connectionString: url });
  await client.connect();
  context.after(async () => {
    await client.end();
    await store.close();
    await close();
  });
  const settings = {
    ...{
      store: true,
      keepMs: 60_000,
      maxResponses: 100,
      maxBytes: 2 ** 30,
      maxChainItems: 100,
      maxChainBytes: 2 ** 30,
    },
    ...{ maxBackground: 10, backgroundTimeoutMs: 60_000, compaction: 'model' as const },
  };
  const stored = {
    ...{ store, cipher, clock: systemClock, settings: () => settings },
    ...{ log: pino({ level: 'silent' }), onNotStored() {} },
  };
  let reserved = 0;
  const reader = {
    owner: 'key-1',
    reserve(bytes: number) {
      reserved += bytes;
    },
  };

  /** Reads, with a change that is committed before a table is read, and after the tables before it were. */
  async function readBeside<Result>(
    read: () => Promise<Result>,
    change: (transaction: Transaction) => unknown,
    table: 'stored_part' | 'stored_event' = 'stored_part',
  ) {
    await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    const reading = Promise.allSettled([read()]);
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    while ((await client.query(waiting)).rows.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    await change(writingTransaction(client));
    await client.query('COMMIT');
    const [outcome] = await reading;
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  }

  async function responseOf(status: ResponseStatus, input: Json[]) {
    const given = { origin: 'p', isRelayed: false, input, output: [], response: { id: 'resp_a', status } };
    const request = { body: { instructions: 'x'.repeat(5000) }, headers: {} };
    const open = status === 'in_progress' && { request };
    const { parts, ...columns } = await encodeContent({ ...given, ...open }, cipher, { owner: 'key-1', row: ROW });
    const now = Date.now();
    const response = {
      ...{ row: ROW, owner: 'key-1', id: 'resp_a', status, background: true, createdAt: now, expiresAt: now + 60_000 },
      ...{ model: 'p/m', provider: 'p', ...columns },
    };
    const names = [{ kind: 'response' as const, name: 'resp_a', position: 0 }];
    return { response, names, parts, limits: LIMITS };
  }

  return {
    store,
    client,
    service: createStoredResponses(stored),
    stored,
    reader,
    readBeside,
    responseOf,
    held: () => reserved,
  };
}

test('a response that ends while it is read is found, and so are its input items', async (context) => {
  const { store, service, stored, reader, readBeside, responseOf, held } = await stage(context);
  const input = [large('a')];
  const begun = await responseOf('in_progress', input);
  const ended = await responseOf('completed', input);
  const end = (transaction: Transaction) => changeStoredResponse.run(transaction, ended);
  await store.call('putStoredResponse', begun);
  const { content } = await readBeside(() => service.find(reader, 'resp_a'), end);
  assert.equal(content?.response.status, 'completed');
  assert.ok(held() <= begun.response.wholeBytes, `${held()} bytes are reserved`);

  await store.call('deleteStoredResponse', { owner: 'key-1', id: 'resp_a', now: Date.now() });
  await store.call('putStoredResponse', begun);
  const items = await readBeside(() => service.inputItems(reader, 'resp_a', []), end);
  assert.equal(items?.length, 1);

  await store.call('deleteStoredResponse', { owner: 'key-1', id: 'resp_a', now: Date.now() });
  await store.call('putStoredResponse', begun);
  const id = unnamedItemId('msg', ROW, 0);
  const located = await readBeside(() => createItemSearch(stored, reader)([id]), end);
  assert.ok(located !== 'too-long' && located?.has(id));
});

test('a response that is deleted while it is read is unknown', async (context) => {
  const { store, service, reader, readBeside, responseOf } = await stage(context);
  await store.call('putStoredResponse', await responseOf('completed', [large('a')]));
  const remove = async (transaction: Transaction) => {
    for (const table of ['stored_response', 'stored_name', 'stored_part_use', 'stored_part'])
      await transaction.run(`DELETE FROM ${table}`);
  };
  await assert.rejects(
    readBeside(() => service.find(reader, 'resp_a'), remove),
    { code: 'response_not_found' },
  );
});

test('a stream that grows while it is read ends behind the events that were read', async (context) => {
  const { store, client, readBeside, responseOf } = await stage(context);
  await store.call('putStoredResponse', await responseOf('in_progress', []));
  const now = Date.now();
  const columns = 'stored_stream (row_id, next, bytes, expires_at)';
  await client.query(`INSERT INTO ${columns} VALUES ('${ROW}', 0, 0, ${now + 60_000})`);
  const batch = { first: 0, last: 2, content: Buffer.from('events') };
  const page = await readBeside(
    () => store.call('readStoredStream', { row: ROW, from: 0, now }),
    (transaction) => addEvents(transaction, ROW, batch),
    'stored_event',
  );
  assert.deepEqual([page?.batches.length, page?.next], [1, 3]);
});

test('a conversation of which an item is deleted while it is read has the others', async (context) => {
  const { service, stored, reader, readBeside } = await stage(context);
  const { conversations } = service;
  const items = ['a', 'b', 'c', 'd'].map((letter) => ({ ...large(letter), id: `msg_${letter}` }));
  const { id } = await conversations.create(reader, { items, metadata: {} });
  const remove = (item: string) => (transaction: Transaction) =>
    deleteConversationItem.run(transaction, {
      ...{ owner: 'key-1', id, item, now: Date.now(), expiresAt: Date.now() + 60_000 },
    });
  const query = { limit: 10, order: 'asc' as const, after: undefined, include: [] };
  const listed = await readBeside(() => conversations.list(reader, id, query), remove('msg_a'));
  assert.deepEqual(
    listed.items.map((item) => item.id),
    ['msg_b', 'msg_c', 'msg_d'],
  );
  const turn = await readBeside(() => readTurn(stored, reader, id), remove('msg_b'));
  assert.deepEqual([...turn.ids], ['msg_c', 'msg_d']);
  await assert.rejects(
    readBeside(() => conversations.item(reader, id, { item: 'msg_c', include: [] }), remove('msg_c')),
    { code: 'conversation_not_found' },
  );
  const reference = { type: 'item_reference', id: 'msg_d' };
  await assert.rejects(
    readBeside(() => conversations.create(reader, { items: [reference], metadata: {} }), remove('msg_d')),
    { code: 'item_not_found' },
  );
});
