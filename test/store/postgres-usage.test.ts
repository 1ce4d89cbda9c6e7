/** Groups of usage records on PostgreSQL: one statement each, written once whatever becomes of the connection. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { Secret } from '../../src/security/secret.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { createStatementPool } from '../../src/store/postgres/pool.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { writeUsageGroup } from '../../src/store/postgres/usage-group.ts';
import type { ParametersOf } from '../../src/store/store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { createRecorder } from '../../src/usage/recorder.ts';
import { query } from '../chaos/postgres-cluster.ts';
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
  const intents = async () => (await sql('SELECT id FROM inflight ORDER BY id')).map(({ id }) => id);
  return { url, store, proxy, recorder, sql, sum, intents };
}

test('intents, records and sums of a group are one statement', async (context) => {
  const { recorder, sql, sum, intents } = await stage(context);
  const odd = { model: 'a "b" \\ {c, NULL} é\n', upstreamId: 'NULL' };
  const all = [intent('a'), intent('b', { model: odd.model }), intent('c', { keyId: 'key "2"' })];
  await Promise.all(all.map((one) => recorder.begin(one)));
  assert.deepEqual(await intents(), ['a', 'b', 'c']);
  const [begun] = await sql("SELECT flush FROM instance WHERE id = 'one'");
  assert.equal(Number(begun?.flush), 1);
  const done = completion({ cost: 2n, upstreamId: odd.upstreamId, finish: undefined, firstByte: undefined });
  await Promise.all([...all.map((one) => recorder.finish(one, done)), recorder.begin(intent('d'))]);
  assert.deepEqual(await intents(), ['d']);
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
  // The turn, the records and the sums have one transaction.
  const [{ n } = {}] = await sql(`SELECT count(DISTINCT x) AS n FROM (SELECT xmin::text AS x FROM usage_request UNION
    SELECT xmin::text FROM usage_hour UNION SELECT xmin::text FROM budget UNION
    SELECT xmin::text FROM instance WHERE id = 'one' UNION SELECT xmin::text FROM inflight) AS all_of_it`);
  assert.equal(Number(n), 1);
});

for (const passes of [true, false]) {
  test(`a group whose connection ends ${passes ? 'after' : 'before'} the server has it counts once`, async (context) => {
    const { recorder, proxy, sum, intents } = await stage(context);
    await Promise.all([recorder.begin(intent('a')), recorder.begin(intent('b'))]);
    proxy.cutAt('usage_group', { passes });
    await Promise.all([recorder.finish(intent('a'), completion({ cost: 5n })), recorder.begin(intent('c'))]);
    await recorder.finish(intent('b'), completion({ cost: 7n }));
    await recorder.finish(intent('c'), completion({ cost: 1n }));
    await recorder.close(10_000);
    assert.deepEqual([await sum(), await intents()], [[3, '13'], []]);
  });
}

test('a group that is repeated, or arrives after later ones, changes nothing', async (context) => {
  const { url, store, sum, intents } = await stage(context);
  const groups: ParametersOf<'recordUsage'>[] = [];
  const call = (async (name: 'recordUsage', group: never) => {
    groups.push(group);
    return store.call(name, group);
  }) as typeof store.call;
  const recorder = createRecorder({ store: { call }, instance: 'one', durability: 'strict', log });
  await recorder.begin(intent('a'));
  await recorder.begin(intent('b'));
  await recorder.finish(intent('a'), completion({ cost: 5n }));
  await recorder.finish(intent('b'), completion({ cost: 6n }));
  assert.deepEqual([await sum(), await intents()], [[2, '11'], []]);
  for (const group of groups.slice(2)) await store.call('recordUsage', group);
  const pool = createStatementPool(url);
  for (const group of groups) assert.equal(await writeUsageGroup(pool, group), false);
  await pool.end();
  assert.deepEqual([await sum(), await intents()], [[2, '11'], []]);
});

test('a request that another gateway wrote off gets its true figures, and those beside it are written', async (context) => {
  const { store, recorder, sum, intents, sql } = await stage(context);
  await Promise.all(['a', 'b'].map((id) => recorder.begin(intent(id, { estimate: { input: 1, cost: 100n } }))));
  await store.call('heartbeat', { id: 'other', now: NOON + 9_000, until: NOON + 60_000, exclusive: false });
  assert.equal(await store.call('recoverUsage', { now: NOON + 20_000, id: 'a' }), 1);
  await Promise.all(['a', 'b'].map((id) => recorder.finish(intent(id), completion({ cost: 3n }))));
  assert.deepEqual([await sum(), await intents()], [[2, '6'], []]);
  const statuses = await sql('SELECT status FROM usage_request');
  assert.deepEqual(
    statuses.map(({ status }) => status),
    ['completed', 'completed'],
  );
});

test('a record that the database refuses is set aside, and those beside it are written', async (context) => {
  const { recorder, sql, sum, intents } = await stage(context);
  await sql(`ALTER TABLE usage_request ADD CONSTRAINT poison CHECK (endpoint_model <> 'poison') NOT VALID`);
  const ids = ['a', 'b', 'c', 'd', 'e'];
  await Promise.all(ids.map((id) => recorder.begin(intent(id))));
  const poison = { endpoint: { provider: 'openai', model: 'poison' } };
  await Promise.all(ids.map((id) => recorder.finish(intent(id), completion({ cost: 1n, ...(id === 'c' && poison) }))));
  assert.deepEqual([await sum(), await intents(), recorder.refused], [[4, '4'], [], 1]);
  assert.deepEqual(
    (await sql('SELECT id FROM usage_refused')).map(({ id }) => id),
    ['c'],
  );
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
  assert.deepEqual(await sum(), [600, '600']);
});

test('an unknown instance writes nothing by a statement, and everything by a transaction', async (context) => {
  const { store, sum } = await stage(context);
  const stranger = createRecorder({ store, instance: 'nobody', durability: 'strict', log });
  await stranger.begin(intent('a'));
  await stranger.finish(intent('a'), completion({ cost: 4n }));
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
