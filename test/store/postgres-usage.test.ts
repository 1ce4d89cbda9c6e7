/** Groups of usage records on PostgreSQL, and their folds: one statement each, written once whatever becomes of the connection. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { pino } from 'pino';
import { Secret } from '../../src/security/secret.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { heartbeat } from '../../src/store/operations/instances.ts';
import { latestUsageHour } from '../../src/store/operations/requests.ts';
import { createStatementPool, type QueryResult, type SqlQuery } from '../../src/store/postgres/pool.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { readingTransaction, writingTransaction } from '../../src/store/postgres/transaction.ts';
import { noteUsageGroup, writeUsageGroup } from '../../src/store/postgres/usage-group.ts';
import type { ParametersOf } from '../../src/store/store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { HOUR_SUM_COLUMNS } from '../../src/store/usage-columns.ts';
import { createRecorder } from '../../src/usage/recorder.ts';
import { recoverInterrupted } from '../../src/usage/recovery.ts';
import { query } from '../chaos/postgres-cluster.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { completion, intent, NOON } from '../usage/records.ts';
import { providePostgres } from './postgres-server.ts';
import { startProxy } from './proxy.ts';

const OPERATIONS = new URL('../../src/store/operations/index.ts', import.meta.url);
const HOUR = Math.floor(NOON / 3_600_000);
const log = pino({ level: 'silent' });

/** A store with the instances `one` and `other`, a recorder of the first. */
async function stage(context: TestContext) {
  const { url, close } = await providePostgres();
  const address = new URL(url);
  const proxy = await startProxy(address.hostname, Number(address.port));
  const proxied = new Secret(url.replace(`:${address.port}/`, `:${proxy.port}/`));
  const store = await openPostgres({ url: proxied, operations: OPERATIONS, migrations: MIGRATIONS_FOLDER });
  context.after(async () => {
    await store.close();
    await proxy.close();
    await close();
  });
  for (const id of ['one', 'other'])
    await store.call('heartbeat', { id, now: NOON, until: NOON + 10_000, exclusive: false });
  const recorder = createRecorder({ store, instance: 'one', durability: 'strict', log });
  const sql = (text: string) => query(url, text) as Promise<Record<string, unknown>[]>;
  const sum = async () => {
    const [row] = await store.call('usageSums', { from: HOUR, to: HOUR + 1, by: [] });
    return row && [row.requests, row.cost];
  };
  const groups = async () => Number((await sql('SELECT count(*) AS n FROM usage_group'))[0]?.n);
  const intents = async () => (await sql('SELECT id FROM inflight ORDER BY id')).map(({ id }) => id);
  return { url, store, proxy, recorder, sql, sum, groups, intents };
}

test('a group is one row, and the intents, records and sums of a fold are one statement', async (context) => {
  const { recorder, sql, sum, groups, intents } = await stage(context);
  const odd = { model: 'a "b" \\ {c, NULL} é\n', upstreamId: 'NULL' };
  const all = [intent('a'), intent('b', { model: odd.model }), intent('c', { keyId: 'key "2"' })];
  await Promise.all(all.map((one) => recorder.begin(one)));
  assert.deepEqual([await groups(), await intents()], [1, []]);
  await recorder.flushed();
  assert.deepEqual([await groups(), await intents()], [0, ['a', 'b', 'c']]);
  const [begun] = await sql("SELECT flush FROM instance WHERE id = 'one'");
  assert.equal(Number(begun?.flush), 1);
  const done = completion({ cost: 2n, upstreamId: odd.upstreamId, finish: undefined, firstByte: undefined });
  await Promise.all([...all.map((one) => recorder.finish(one, done)), recorder.begin(intent('d'))]);
  assert.deepEqual([await groups(), await sum()], [1, undefined]);
  await recorder.flushed();
  assert.deepEqual([await groups(), await intents()], [0, ['d']]);
  assert.deepEqual(await sum(), [3, '6']);
  const rows = await sql(
    'SELECT id, model, upstream_id, finish, first_byte_ms, cost, xmin FROM usage_request ORDER BY id',
  );
  assert.deepEqual(
    rows.map(({ xmin, ...row }) => Object.values(row).map(String)),
    [
      ['a', 'openai/gpt-5', 'NULL', 'null', 'null', '2'],
      ['b', odd.model, 'NULL', 'null', 'null', '2'],
      ['c', 'openai/gpt-5', 'NULL', 'null', 'null', '2'],
    ],
  );
  const [last] = await sql("SELECT flush FROM instance WHERE id = 'one'");
  assert.equal(Number(last?.flush), 2);
  // The records and the sums have one transaction.
  const [{ n } = {}] = await sql(`SELECT count(DISTINCT x) AS n FROM (SELECT xmin::text AS x FROM usage_request UNION
    SELECT xmin::text FROM usage_hour UNION SELECT xmin::text FROM budget UNION SELECT xmin::text FROM inflight) AS all_of_it`);
  assert.equal(Number(n), 1);
});

for (const [statement, passes] of [
  ['usage_note', true],
  ['usage_note', false],
  ['usage_group', true],
  ['usage_group', false],
] as const) {
  const moment = `${passes ? 'after' : 'before'} the server has ${statement}`;
  test(`a request whose connection ends ${moment} counts once`, async (context) => {
    const { recorder, proxy, sum, intents } = await stage(context);
    await Promise.all([recorder.begin(intent('a')), recorder.begin(intent('b'))]);
    proxy.cutAt(statement, { passes });
    await Promise.all([recorder.finish(intent('a'), completion({ cost: 5n })), recorder.begin(intent('c'))]);
    if (statement === 'usage_note') assert.ok(recorder.ready, 'requests are refused for one lost connection');
    await recorder.finish(intent('b'), completion({ cost: 7n }));
    await recorder.finish(intent('c'), completion({ cost: 1n }));
    await recorder.close(10_000);
    assert.deepEqual([await sum(), await intents()], [[3, '13'], []]);
  });
}

test('running requests are found whatever the client named its model', async (context) => {
  const { store, recorder } = await stage(context);
  const names = ['a\0b', 'half of a pair: \ud83d', `${'x'.repeat(299)}\u{1f600}`];
  await Promise.all(names.map((model, index) => recorder.begin(intent(`r${index}`, { model, keyId: 'key-1' }))));
  await recorder.flushed();
  const found = await store.call('openIntents', { filter: { keyId: 'key-1' }, limit: 10 });
  assert.deepEqual(found.map(({ record }) => JSON.parse(record).model).toSorted(), [
    'ab',
    'half of a pair: \ufffd',
    `${'x'.repeat(299)}\ufffd`,
  ]);
});

test('a group or a fold that is repeated, or arrives after later ones, changes nothing', async (context) => {
  const { url, store, sum, groups, intents } = await stage(context);
  const notes: ParametersOf<'noteUsageGroup'>[] = [];
  const folds: ParametersOf<'recordUsage'>[] = [];
  const call = (async (name: 'recordUsage' | 'noteUsageGroup', parameters: never) => {
    if (name === 'recordUsage') folds.push(parameters);
    else notes.push(parameters);
    return store.call(name, parameters);
  }) as typeof store.call;
  const recorder = createRecorder({ store: { call }, instance: 'one', durability: 'strict', log });
  await recorder.begin(intent('a'));
  await recorder.begin(intent('b'));
  await recorder.flushed();
  await recorder.finish(intent('a'), completion({ cost: 5n }));
  await recorder.finish(intent('b'), completion({ cost: 6n }));
  await recorder.flushed();
  const written = async () => [await sum(), await groups(), await intents()];
  assert.deepEqual([notes.length, folds.length, await written()], [4, 2, [[2, '11'], 0, []]]);
  for (const fold of folds) await store.call('recordUsage', fold);
  const pool = createStatementPool(url);
  for (const note of notes) assert.equal(await noteUsageGroup(pool, note), false);
  for (const fold of folds) assert.equal(await writeUsageGroup(pool, fold), false);
  await pool.end();
  assert.deepEqual(await written(), [[2, '11'], 0, []]);
});

test('a fold of which another gateway folded some groups counts each request once', async (context) => {
  const { store, recorder, sum, groups, intents, sql } = await stage(context);
  const estimate = { input: 1, cost: 100n };
  for (const id of ['a', 'b']) await recorder.begin(intent(id, { estimate }));
  await recorder.finish(intent('a'), completion({ cost: 1n }));
  await store.call('heartbeat', { id: 'other', now: NOON + 9_000, until: NOON + 60_000, exclusive: false });
  assert.equal((await store.call('recoverUsage', { now: NOON + 20_000 })).recovered, 1);
  assert.deepEqual([await sum(), await groups()], [[2, '101'], 0]);
  await recorder.begin(intent('c'));
  await recorder.finish(intent('b'), completion({ cost: 2n }));
  await recorder.flushed();
  assert.deepEqual([await sum(), await groups(), await intents()], [[2, '3'], 0, ['c']]);
  // What became an intent again is not recorded twice when the gateway dies.
  assert.equal((await store.call('recoverUsage', { now: NOON + 20_000 })).recovered, 1);
  await recorder.finish(intent('c'), completion({ cost: 4n }));
  await recorder.flushed();
  assert.deepEqual([await sum(), await intents()], [[3, '7'], []]);
  const statuses = await sql('SELECT status FROM usage_request');
  assert.deepEqual(new Set(statuses.map(({ status }) => status)), new Set(['completed']));
});

test('groups of a dead gateway are folded in parts, and a request that ends in a later part counts once', async (context) => {
  const { store, sum, groups, intents, sql } = await stage(context);
  // Its groups wait for a second that does not pass.
  const clock = createManualClock(0);
  const recorder = createRecorder({ store, instance: 'one', durability: 'strict', log, clock });
  for (const id of ['a', 'b']) await recorder.begin(intent(id, { estimate: { input: 1, cost: 100n } }));
  await recorder.finish(intent('a'), completion({ cost: 1n }));
  const now = NOON + 20_000;
  await store.call('heartbeat', { id: 'other', now: NOON + 9_000, until: NOON + 60_000, exclusive: false });
  const left = await groups();
  assert.ok(left > 2, `${left}`);
  for (let folded = 1; folded <= left; folded++) {
    assert.deepEqual(await store.call('recoverUsage', { now, limit: 1 }), { recovered: 0, hasMore: true });
    assert.equal(await groups(), left - folded);
    // Whoever reads beside it sees no interruption of a request whose end is in a later group.
    assert.ok((await sql(`SELECT 1 FROM usage_request WHERE status <> 'completed'`)).length === 0);
  }
  assert.deepEqual([await sum(), await intents()], [[1, '1'], ['b']]);
  assert.deepEqual(await store.call('recoverUsage', { now, limit: 1 }), { recovered: 1, hasMore: true });
  assert.deepEqual(await store.call('recoverUsage', { now, limit: 1 }), { recovered: 0, hasMore: false });
  assert.deepEqual([await sum(), await intents()], [[2, '101'], []]);
});

test('a recovery that waits for another one leaves intents whose ends may be in groups that are left', async (context) => {
  const { store, url, groups, intents } = await stage(context);
  const recorder = createRecorder({ store, instance: 'one', durability: 'strict', log, clock: createManualClock(0) });
  for (const id of ['a', 'b']) await recorder.begin(intent(id));
  await recorder.finish(intent('a'), completion({ cost: 1n }));
  const now = NOON + 20_000;
  await store.call('heartbeat', { id: 'other', now: NOON + 9_000, until: NOON + 60_000, exclusive: false });
  assert.equal(await groups(), 3);
  await store.call('recoverUsage', { now, limit: 1 });
  assert.deepEqual(await intents(), ['a']);
  const beside = new Client({ connectionString: url });
  await beside.connect();
  try {
    await beside.query('BEGIN');
    await beside.query('DELETE FROM usage_group WHERE number = (SELECT min(number) FROM usage_group)');
    const waiting = store.call('recoverUsage', { now, limit: 1 });
    // Other databases of the server have locks of their own.
    const isBlocked = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    while ((await beside.query(isBlocked)).rows.length === 0) await delay(10);
    await beside.query('COMMIT');
    assert.deepEqual(await waiting, { recovered: 0, hasMore: false });
  } finally {
    await beside.end();
  }
  assert.deepEqual(await intents(), ['a']);
});

test('a gateway that was taken for dead leaves no intents of requests that another gateway found begun', async (context) => {
  const { store, sum, groups, intents } = await stage(context);
  const clock = createManualClock(0);
  const recorder = createRecorder({ store, instance: 'one', durability: 'strict', log, clock });
  await recorder.begin(intent('a'));
  await recorder.finish(intent('a'), completion({ cost: 1n }));
  await store.call('heartbeat', { id: 'other', now: NOON + 9_000, until: NOON + 60_000, exclusive: false });
  await store.call('recoverUsage', { now: NOON + 20_000, limit: 1 });
  assert.deepEqual([await groups(), await intents()], [1, ['a']]);
  clock.advance(5_000);
  await recorder.flushed();
  assert.deepEqual([await sum(), await groups(), await intents()], [[1, '1'], 0, []]);
});

test('holds of a dead gateway stay until its groups are folded', async (context) => {
  const { store, recorder, sql } = await stage(context);
  await recorder.begin(intent('a'));
  await recorder.finish(intent('a'), completion({ cost: 1n }));
  await store.call('setHold', { name: 'key-1', instance: 'one', limit: 100n, want: 10n });
  const holds = async () => Number((await sql('SELECT count(*) AS n FROM hold'))[0]?.n);
  const beat = { id: 'other', now: NOON + 20_000, until: NOON + 60_000, exclusive: false };
  await store.call('heartbeat', { ...beat, now: NOON + 9_000 });
  await store.call('heartbeat', beat);
  assert.equal(await holds(), 1);
  await store.call('recoverUsage', { now: NOON + 20_000 });
  await store.call('heartbeat', beat);
  assert.equal(await holds(), 0);
});

test('holds of nothing are deleted while one of them is set', async (context) => {
  const { url, store, sql } = await stage(context);
  await store.call('setHold', { name: 'key-1', instance: 'one', limit: 100n, want: 0n });
  const client = new Client(url);
  await client.connect();
  // The statements of `setHold`, with the deletion between them.
  await client.query("BEGIN; UPDATE held SET subject = subject WHERE subject = 'key-1'");
  const forgotten = store.call('forgetHolds', { limit: 10 });
  const waits = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  while ((await sql(waits)).length === 0);
  await client.query("UPDATE hold SET amount = 7 WHERE subject = 'key-1'");
  await client.query('COMMIT');
  await client.end();
  await forgotten;
  const [deadlocks] = await sql('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()');
  assert.equal(Number(deadlocks?.deadlocks), 0);
  assert.deepEqual(await sql('SELECT amount FROM hold'), [{ amount: '7' }]);
});

test('a request that another gateway wrote off gets its true figures, and those beside it are written', async (context) => {
  const { store, recorder, sum, intents, sql } = await stage(context);
  await Promise.all(['a', 'b'].map((id) => recorder.begin(intent(id, { estimate: { input: 1, cost: 100n } }))));
  await recorder.flushed();
  await store.call('heartbeat', { id: 'other', now: NOON + 9_000, until: NOON + 60_000, exclusive: false });
  assert.equal((await store.call('recoverUsage', { now: NOON + 20_000, id: 'a' })).recovered, 1);
  await Promise.all(['a', 'b'].map((id) => recorder.finish(intent(id), completion({ cost: 3n }))));
  await recorder.flushed();
  assert.deepEqual([await sum(), await intents()], [[2, '6'], []]);
  const statuses = await sql('SELECT status FROM usage_request');
  assert.deepEqual(
    statuses.map(({ status }) => status),
    ['completed', 'completed'],
  );
});

for (const isGroupRefused of [false, true]) {
  const place = isGroupRefused ? ', also where its group is refused as one row' : '';
  test(`a record that the database refuses is set aside, and those beside it are written${place}`, async (context) => {
    const { recorder, sql, sum, intents } = await stage(context);
    await sql(`ALTER TABLE usage_request ADD CONSTRAINT poison CHECK (endpoint_model <> 'poison') NOT VALID`);
    if (isGroupRefused)
      await sql(`ALTER TABLE usage_group ADD CONSTRAINT poison CHECK (records NOT LIKE '%poison%') NOT VALID`);
    const ids = ['a', 'b', 'c', 'd', 'e'];
    await Promise.all(ids.map((id) => recorder.begin(intent(id))));
    const poison = { endpoint: { provider: 'openai', model: 'poison' } };
    await Promise.all(
      ids.map((id) => recorder.finish(intent(id), completion({ cost: 1n, ...(id === 'c' && poison) }))),
    );
    // Nobody is released from a refused group before its records are in their tables.
    if (!isGroupRefused) await recorder.flushed();
    assert.deepEqual([await sum(), await intents(), recorder.refused], [[4, '4'], [], 1]);
    assert.deepEqual(
      (await sql('SELECT id FROM usage_refused')).map(({ id }) => id),
      ['c'],
    );
  });
}

test('requests that begin in a group that is refused as one row are in the store before they are sent', async (context) => {
  const { recorder, sql, sum, groups, intents } = await stage(context);
  await sql(`ALTER TABLE usage_group ADD CONSTRAINT poison CHECK (records NOT LIKE '%poison%') NOT VALID`);
  await recorder.begin(intent('a'));
  await Promise.all([recorder.begin(intent('b')), recorder.begin(intent('c', { model: 'poison' }))]);
  assert.deepEqual([await groups(), await intents()], [0, ['a', 'b', 'c']]);
  await Promise.all(['a', 'b', 'c'].map((id) => recorder.finish(intent(id), completion({ cost: 1n }))));
  await recorder.flushed();
  assert.deepEqual([await sum(), await groups(), await intents()], [[3, '3'], 0, []]);
});

test('groups that the database does not remove do not hold up others, and count once', async (context) => {
  const { store, recorder, sql, sum, groups, intents } = await stage(context);
  await sql(`CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'kept'; END $$;
    CREATE TRIGGER keep BEFORE DELETE ON usage_group FOR EACH ROW EXECUTE FUNCTION keep()`);
  await recorder.begin(intent('a'));
  await recorder.finish(intent('a'), completion({ cost: 1n }));
  await recorder.flushed();
  assert.deepEqual([await sum(), await groups(), recorder.refused], [[1, '1'], 2, 0]);
  await Promise.all([recorder.begin(intent('b')), recorder.begin(intent('c'))]);
  await recorder.finish(intent('b'), completion({ cost: 1n }));
  await recoverInterrupted({ store, log });
  assert.deepEqual(await intents(), []);
  assert.equal(Number((await sum())?.[0]), 3);
  await sql('DROP TRIGGER keep ON usage_group');
  await recoverInterrupted({ store, log });
  assert.equal(Number((await sum())?.[0]), 3);
  assert.equal(await groups(), 0);
});

test('gateways that write the same sums at once do not block each other', async (context) => {
  const { store, recorder, sum } = await stage(context);
  const other = createRecorder({ store, instance: 'other', durability: 'strict', log });
  const keys = ['k1', 'k2', 'k3'];
  await Promise.all(
    [recorder, other].flatMap((one, index) =>
      Array.from({ length: 300 }, async (_, at) => {
        const request = intent(`${index}-${at}`, { keyId: keys[(at + index) % 3] as string });
        await one.begin(request);
        await one.finish(request, completion({ cost: 1n }));
      }),
    ),
  );
  await Promise.all([recorder.flushed(), other.flushed()]);
  assert.deepEqual(await sum(), [600, '600']);
});

test('an unknown instance writes nothing by a statement, and everything by a transaction', async (context) => {
  const { store, sum } = await stage(context);
  const stranger = createRecorder({ store, instance: 'nobody', durability: 'strict', log });
  await stranger.begin(intent('a'));
  await stranger.finish(intent('a'), completion({ cost: 4n }));
  await stranger.flushed();
  assert.deepEqual(await sum(), [1, '4']);
});

test('a store that is away fails a group as unavailable', async (context) => {
  const { store, proxy, recorder } = await stage(context);
  await recorder.begin(intent('a'));
  await proxy.cut();
  const group = { begun: [], finished: [], turn: { instance: 'one', number: 9 } };
  await assert.rejects(store.call('recordUsage', group), StoreUnavailable);
  await proxy.mend();
});

test('a search for a name without requests reads no hours of days that are summed up', async (context) => {
  const { url, sql } = await stage(context);
  const [days, keys] = [60, 40];
  const first = Math.floor(HOUR / 24) * 24;
  const sums = [...HOUR_SUM_COLUMNS];
  const ones = sums.map(() => '1').join(', ');
  const names = "'key-' || k, 'a/m', 'a'";
  await sql(`INSERT INTO usage_hour (hour, key_id, model, provider, ${sums.join(', ')})
    SELECT h, ${names}, ${ones} FROM generate_series(${first}, ${first + days * 24 - 1}) AS h, generate_series(1, ${keys}) AS k`);
  await sql(`INSERT INTO usage_day (start, key_id, model, provider, ${sums.join(', ')})
    SELECT ${first} + 24 * d, ${names}, ${ones} FROM generate_series(0, ${days - 1}) AS d, generate_series(1, ${keys}) AS k`);
  await sql(`INSERT INTO usage_day_state (start, build, until, complete)
    SELECT ${first} + 24 * d, 'x', 0, 1 FROM generate_series(0, ${days - 1}) AS d`);
  await sql('ANALYZE');
  const [index] = await sql("SELECT relpages AS pages FROM pg_class WHERE relname = 'usage_hour_pkey'");
  const client = new Client({ connectionString: url });
  await client.connect();
  const blocks: number[] = [];
  const explained = {
    async query(question: SqlQuery): Promise<QueryResult> {
      const text = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${question.text}`;
      const { Plan: plan } = (await client.query({ ...question, text })).rows[0]['QUERY PLAN'][0];
      blocks.push(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']);
      return client.query(question);
    },
  };
  try {
    const transaction = readingTransaction(explained, true);
    const search = { filter: { model: 'a/none' }, since: 0, until: first + days * 24 };
    assert.equal(await latestUsageHour.run(transaction, search), undefined);
  } finally {
    await client.end();
  }
  // Those of the daily sums, and of the latest two days by hours.
  assert.ok(Math.max(...blocks) < Number(index?.pages) / 2, `${blocks} of ${index?.pages} pages`);
});

test('a heartbeat does not read the holds of others', async (context) => {
  const { url, sql } = await stage(context);
  await sql(
    `INSERT INTO hold (subject, instance, amount) SELECT 'key-' || n, 'one', 1 FROM generate_series(1, 50000) AS n`,
  );
  await sql('ANALYZE');
  const [table] = await sql("SELECT relpages AS pages FROM pg_class WHERE relname = 'hold'");
  const client = new Client({ connectionString: url });
  await client.connect();
  const blocks: number[] = [];
  const explained = {
    async query(question: SqlQuery): Promise<QueryResult> {
      await client.query('BEGIN');
      const text = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${question.text}`;
      const { Plan: plan } = (await client.query({ text, values: question.values })).rows[0]['QUERY PLAN'][0];
      blocks.push(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']);
      await client.query('ROLLBACK');
      return client.query(question);
    },
  };
  try {
    await heartbeat.run(writingTransaction(explained), {
      id: 'other',
      now: NOON,
      until: NOON + 10_000,
      exclusive: false,
    });
  } finally {
    await client.end();
  }
  assert.ok(Math.max(...blocks) < Number(table?.pages) / 4, `${blocks} of ${table?.pages} pages`);
});
