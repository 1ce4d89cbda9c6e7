/** Months of request records on PostgreSQL: made ahead once, filled from rows that came before them, dropped as a whole. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import { Secret } from '../../src/security/secret.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { createRecorder } from '../../src/usage/recorder.ts';
import { pruneRecords } from '../../src/usage/retention.ts';
import { query } from '../chaos/postgres-cluster.ts';
import { completion, intent } from '../usage/records.ts';
import { providePostgres } from './postgres-server.ts';

const OPERATIONS = new URL('../../src/store/operations/index.ts', import.meta.url);
const DAY_MS = 24 * 3_600_000;

const monthOf = (moment: number) => new Date(moment).toISOString().slice(0, 7).replace('-', '_');

async function stage(context: TestContext) {
  const { url, close } = await providePostgres();
  const open = (clock?: Clock) =>
    openPostgres({
      url: new Secret(url),
      operations: OPERATIONS,
      migrations: MIGRATIONS_FOLDER,
      ...(clock && { clock }),
    });
  const stores = await Promise.all([open(), open(), open()]);
  context.after(async () => {
    for (const store of stores) await store.close();
    await close();
  });
  const store = stores[0];
  const sql = (text: string) => query(url, text) as Promise<Record<string, unknown>[]>;
  /** Reads a table until the returned function is called, as `pg_dump` does. */
  async function read(table: string): Promise<() => Promise<void>> {
    const mark = `pg_sleep(600) AS read_${table}`;
    const reading = sql(`SELECT ${mark}, count(*) FROM ${table}`).catch(({ code }) => code);
    const find = () =>
      sql(`SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT ${mark}%' AND wait_event = 'PgSleep'`);
    while ((await find()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    return async () => {
      const [reader] = await find();
      await sql(`SELECT pg_cancel_backend(${reader?.pid})`);
      assert.equal(await reading, '57014', 'the reader was cancelled');
    };
  }
  const months = async () =>
    (await sql("SELECT relname FROM pg_class WHERE relname LIKE 'usage_request_2%' AND relkind = 'r' ORDER BY 1")).map(
      ({ relname }) => String(relname).slice('usage_request_'.length),
    );
  const places = async () =>
    (await sql('SELECT tableoid::regclass::text AS place, id FROM usage_request ORDER BY id')).map(
      ({ place, id }) => `${id} ${String(place).slice('usage_request_'.length)}`,
    );
  async function record(id: string, startedAt: number): Promise<void> {
    const recorder = createRecorder({ store, instance: 'one', durability: 'batched', log: pino({ level: 'silent' }) });
    await recorder.finish(intent(id, { startedAt }), completion({ upstreamId: undefined }));
    await recorder.close(5000);
  }
  return { store, open, sql, read, months, places, record };
}

/** In the middle of a month, by its distance from the present one. */
function middle(now: number, months: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 15);
}

test('this month and the next are there once, however many gateways start', async (context) => {
  const { store, months, places, record } = await stage(context);
  const [before, here, next] = [-1, 0, 1].map((month) => middle(store.now(), month)) as [number, number, number];
  assert.deepEqual(await months(), [monthOf(here), monthOf(next)]);
  await record('a', before);
  await record('b', here);
  await record('c', next);
  assert.deepEqual(await places(), ['a rest', `b ${monthOf(here)}`, `c ${monthOf(next)}`]);
  for (const id of ['a', 'b', 'c']) assert.ok(await store.call('usageRecord', { id, keyId: 'key-1' }), id);
});

test('rows that came before their month move into it', async (context) => {
  const { store, open, sql, places, record } = await stage(context);
  const here = middle(store.now(), 0);
  await sql(`DROP TABLE usage_request_${monthOf(here)}`);
  await record('a', here);
  assert.deepEqual(await places(), ['a rest']);
  const later = await open();
  assert.deepEqual(await places(), [`a ${monthOf(here)}`]);
  await later.close();
});

test('a month that is over is dropped, and the rows of the one after it go in parts', async (context) => {
  const { store, sql, months, places, record } = await stage(context);
  const here = new Date(store.now());
  const first = Date.UTC(here.getUTCFullYear(), here.getUTCMonth());
  await record('a', first + 1);
  await record('b', first + 2 * DAY_MS);
  await record('c', middle(store.now(), 1));
  const now = () => first + 3 * DAY_MS;
  assert.equal(await pruneRecords({ store, now }, { keep: 2 * DAY_MS, maxSize: 1e9 }), 1);
  assert.deepEqual(
    (await places()).map((place) => place[0]),
    ['b', 'c'],
  );
  const nextMonth = () => middle(store.now(), 1) + DAY_MS;
  assert.equal(await pruneRecords({ store, now: nextMonth }, { keep: 2 * DAY_MS, maxSize: 1e9 }), 1);
  assert.deepEqual(
    (await places()).map((place) => place[0]),
    ['c'],
  );
  assert.deepEqual(await months(), [monthOf(middle(store.now(), 1))]);
  // The old rows of a large month stay until it is over, unless all are too many.
  await sql(`UPDATE pg_class SET reltuples = 2000000 WHERE relname = 'usage_request_${monthOf(nextMonth())}'`);
  const later = () => nextMonth() + 10 * DAY_MS;
  assert.equal(await pruneRecords({ store, now: later }, { keep: 2 * DAY_MS, maxSize: 1e9 }), 0);
  assert.deepEqual(
    (await places()).map((place) => place[0]),
    ['c'],
  );
  await pruneRecords({ store, now: later }, { keep: 2 * DAY_MS, maxSize: 1 });
  assert.deepEqual(await places(), []);
});

test('a month that somebody reads is dropped later', async (context) => {
  const { store, read, months, record } = await stage(context);
  const here = middle(store.now(), 0);
  await record('a', here);
  const release = await read('usage_request');
  const day = Math.floor(middle(store.now(), 1) / DAY_MS);
  await assert.rejects(
    store.call('pruneUsage', { day, limit: 10 }),
    (error) => error instanceof StoreUnavailable && /lock timeout/.test(error.problem),
  );
  await release();
  assert.equal((await months()).length, 2);
  assert.equal(await store.call('pruneUsage', { day, limit: 10 }), 1);
  assert.equal((await months()).length, 1);
});

/** A clock whose long timers are called by the test. */
function longTimers() {
  const timers = new Map<number, () => void>();
  const after: Clock['after'] = (milliseconds, callback, options) => {
    if (milliseconds < 60_000) return systemClock.after(milliseconds, callback, options);
    timers.set(milliseconds, callback);
    return () => timers.delete(milliseconds);
  };
  return { timers, clock: { ...systemClock, after } };
}

test('a gateway starts while somebody reads, and makes the month within a minute', async (context) => {
  const { store, open, sql, read, months, places, record } = await stage(context);
  const here = middle(store.now(), 0);
  await sql(`DROP TABLE usage_request_${monthOf(here)}`);
  await record('a', here);
  const versions = () => sql('SELECT xmax::text FROM usage_request_rest');
  const untouched = await versions();
  const release = await read('usage_request_rest');
  const { timers, clock } = longTimers();
  const started = await open(clock);
  context.after(() => started.close());
  await record('b', here);
  assert.deepEqual(await places(), ['a rest', 'b rest']);
  assert.deepEqual(await versions(), [...untouched, ...untouched], 'no row was moved in vain');
  assert.deepEqual([...timers.keys()], [60_000]);
  await release();
  timers.get(60_000)?.();
  while ((await months()).length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(await places(), [`a ${monthOf(here)}`, `b ${monthOf(here)}`]);
});

test('a gateway starts where the rows of a month are too many to move', async (context) => {
  const { store, open, sql, places, record } = await stage(context);
  const here = middle(store.now(), 0);
  await sql(`DROP TABLE usage_request_${monthOf(here)}`);
  await record('a', here);
  await sql(`CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'it took too long' USING ERRCODE = '57014'; END $$`);
  await sql('CREATE TRIGGER take_long BEFORE DELETE ON usage_request_rest FOR EACH ROW EXECUTE FUNCTION take_long()');
  const { timers, clock } = longTimers();
  const started = await open(clock);
  await record('b', here);
  assert.deepEqual(await places(), ['a rest', 'b rest']);
  assert.deepEqual([...timers.keys()], [6 * 3_600_000]);
  await started.close();
  assert.equal(timers.size, 0);
});
