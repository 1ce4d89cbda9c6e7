/** Store contract: behaviour common to both engines. */

import assert from 'node:assert/strict';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { GatewayError } from '../../src/core/errors.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { ENGINE_OPERATIONS, type EngineStore, engineStore } from './engine-store.ts';
import { forEachStore, temporaryData } from './stores.ts';

forEachStore((engine, openStore) => {
  const operations = ENGINE_OPERATIONS;
  const open = async (context: TestContext): Promise<EngineStore> =>
    engineStore(await openStore(context, { operations }));

  describe(`an operation (${engine})`, () => {
    test('is durable when it settles, and others see it', async (context) => {
      const store = await openStore(context, { operations });
      const other = engineStore(await store.beside());
      await engineStore(store).call('put', { subject: 'a', value: 1 });
      assert.equal(await other.call('get', { subject: 'a' }), 1);
      await other.call('put', { subject: 'b', value: 2 });
      assert.equal(await engineStore(store).call('get', { subject: 'b' }), 2);
    });

    test('that refuses takes back what it did, and its error arrives whole', async (context) => {
      const store = await open(context);
      await assert.rejects(store.call('putAndRefuse', { subject: 'a', value: 1 }), (error) => {
        assert.ok(error instanceof GatewayError);
        const { code, message, param, retryAfter } = error;
        assert.deepEqual(
          [code, message, param, retryAfter],
          ['insufficient_quota', 'The budget is used up.', 'budget', 5],
        );
        return true;
      });
      assert.equal(await store.call('get', { subject: 'a' }), undefined);
    });

    test('with a defect is told apart from an engine that fails', async (context) => {
      const store = await open(context);
      await store.call('put', { subject: 'taken', value: 1 });
      for (const fail of [
        () => store.call('putAndFail', { subject: 'a', value: 1 }),
        () => store.call('put', { subject: 'taken', value: 2 }),
        () => store.call('tell', { sql: 'SELECT nothing FROM nowhere', row: {} }),
        () => store.call('tell', { sql: 'SELECT CAST(:missing AS text) AS x', row: {} }),
        () => store.call('writeInReading', { subject: 'a', value: 1 }),
        () => store.call('nonsense' as 'get', { subject: 'a' }),
      ]) {
        await assert.rejects(fail, (error) => error instanceof Error && !(error instanceof GatewayError));
      }
      assert.equal(await store.call('get', { subject: 'a' }), undefined);
      assert.equal(await store.call('get', { subject: 'taken' }), 1);
    });

    test('that fails among many takes back nothing but its own', async (context) => {
      const store = await open(context);
      const outcomes = await Promise.allSettled(
        Array.from({ length: 60 }, (_, index) => {
          const item = { subject: `item ${index}`, value: index };
          if (index % 3 === 1) return store.call('putAndRefuse', item);
          return index % 3 === 2 ? store.call('putAndFail', item) : store.call('put', item);
        }),
      );
      assert.deepEqual(
        outcomes.map(({ status }) => status === 'fulfilled'),
        outcomes.map((_, index) => index % 3 === 0),
      );
      assert.equal((await store.call('list', { prefix: 'item ' })).length, 20);
    });

    test('that waits for something else is ended, and the store works on', async (context) => {
      const store = engineStore(await openStore(context, { operations, timeoutMs: 300 }));
      const [wandering, other] = await Promise.allSettled([
        store.call('putAndWander', { subject: 'a', value: 1, milliseconds: 600 }),
        store.call('put', { subject: 'b', value: 1 }),
      ]);
      assert.equal(wandering.status, 'rejected');
      assert.match(wandering.reason.message, /putAndWander .*waits for something/);
      assert.equal(other.status, 'fulfilled');
      await store.call('put', { subject: 'c', value: 1 });
      // Long enough for it to try to go on.
      await new Promise((resolve) => setTimeout(resolve, 700));
      assert.deepEqual(await store.call('list', { prefix: 'a' }), []);
      assert.equal(await store.call('get', { subject: 'c' }), 1);
    });

    test('that locks what it changes loses no change to others', async (context) => {
      const store = await openStore(context, { operations });
      const stores = [engineStore(store), engineStore(await store.beside())];
      await stores[0]?.call('put', { subject: 'count', value: 0 });
      const results = await Promise.all(
        Array.from({ length: 200 }, (_, index) => stores[index % 2]?.call('increment', { subject: 'count' })),
      );
      assert.equal(new Set(results).size, 200);
      assert.equal(await stores[1]?.call('get', { subject: 'count' }), 200);
    });
  });

  describe(`rows (${engine})`, () => {
    test('come back as they were put', async (context) => {
      const store = await open(context);
      const bytes = new Uint8Array([0, 255, 10, 13, 39]);
      const row = { id: 'a:b ::c', big: 2n ** 62n, small: -1, safe: Number.MAX_SAFE_INTEGER, absent: null, bytes };
      const blob = engine === 'sqlite' ? 'BLOB' : 'bytea';
      const sql = `SELECT CAST(:id AS text) AS id, CAST(CAST(:big AS bigint) AS text) AS big, CAST(:small AS bigint) AS small,
        CAST(:safe AS bigint) AS safe, CAST(:absent AS text) AS absent, CAST(:bytes AS ${blob}) AS bytes, ':id' AS quoted,
        1 = 1 AS yes, count(*) AS many, CAST(:id AS text) AS again`;
      const [found] = await store.call('ask', { sql, row });
      assert.deepEqual(Uint8Array.from(found?.bytes as Uint8Array), bytes);
      assert.deepEqual(
        { ...found, bytes: undefined },
        {
          ...{ id: 'a:b ::c', big: String(2n ** 62n), small: -1, safe: Number.MAX_SAFE_INTEGER, absent: null },
          ...{ bytes: undefined, quoted: ':id', yes: 1, many: 1, again: 'a:b ::c' },
        },
      );
    });

    test('with a number that would lose digits are refused', async (context) => {
      const store = await open(context);
      const sql = 'SELECT CAST(:big AS bigint) AS big';
      await assert.rejects(store.call('ask', { sql, row: { big: 2n ** 53n + 1n } }), /too large|outside|range/i);
    });

    test('go in by the names of their columns, in whatever order these are', async (context) => {
      const store = await open(context);
      const items = [
        { subject: 'first', value: 1 },
        { value: 2, subject: 'second' },
      ];
      assert.equal(await store.call('putMany', { items, ignoreDuplicates: false }), 2);
      assert.deepEqual(
        [await store.call('get', { subject: 'first' }), await store.call('get', { subject: 'second' })],
        [1, 2],
      );
    });

    test('go in by the ten thousand, without those that are there', async (context) => {
      const store = await open(context);
      const items = Array.from({ length: 40_000 }, (_, value) => ({ subject: `many ${value}`, value }));
      assert.equal(await store.call('putMany', { items: items.slice(0, 10), ignoreDuplicates: false }), 10);
      assert.equal(await store.call('putMany', { items, ignoreDuplicates: true }), 39_990);
      await assert.rejects(store.call('putMany', { items: items.slice(5, 20), ignoreDuplicates: false }));
      assert.equal(await store.call('putMany', { items: [], ignoreDuplicates: false }), 0);
      assert.equal((await store.call('list', { prefix: 'many' })).length, 40_000);
    });
  });

  describe(`the schema (${engine})`, () => {
    test('is made once, however many come at the same moment', async (context) => {
      const store = await openStore(context);
      const others = await Promise.all(Array.from({ length: 5 }, () => store.beside()));
      for (const other of others) assert.deepEqual(await other.health(), { writable: true });
    });

    test('that is not the one the store was made with is refused', async (context) => {
      const folder = join(temporaryData(context), 'migrations');
      cpSync(MIGRATIONS_FOLDER, folder, { recursive: true });
      const migrations = pathToFileURL(`${folder}/`);
      const store = await openStore(context, { migrations });
      writeFileSync(join(folder, 'state', '9000-later.sql'), 'CREATE TABLE later (id {int}, bytes {blob});\n');
      assert.ok(await store.beside());
      writeFileSync(join(folder, 'state', '9000-later.sql'), 'CREATE TABLE changed (id {int});\n');
      await assert.rejects(store.beside(), {
        code: 'unavailable',
        message: 'The migration state/9000-later.sql is not the one that the store was made with.',
      });
      rmSync(join(folder, 'state', '9000-later.sql'));
      await assert.rejects(store.beside(), { message: /made by a newer version .*: it has state\/9000-later\.sql/ });
    });

    test('whose last step fails is left as it was', async (context) => {
      const folder = join(temporaryData(context), 'migrations');
      cpSync(MIGRATIONS_FOLDER, folder, { recursive: true });
      const store = await openStore(context, { migrations: pathToFileURL(`${folder}/`), operations });
      const step = join(folder, 'state', '9000-later.sql');
      writeFileSync(step, 'CREATE TABLE later (id {int});\nCREATE TABLE later (id {int});\n');
      await assert.rejects(store.beside(), /already exists/);
      writeFileSync(step, 'CREATE TABLE later (id {int});\n');
      const other = engineStore(await store.beside());
      assert.deepEqual(await other.call('ask', { sql: 'SELECT id FROM later', row: {} }), []);
    });
  });

  test(`a closed store says so, and closing it again does nothing (${engine})`, async (context) => {
    const store = await openStore(context);
    assert.deepEqual(await store.health(), { writable: true });
    const last = store.call('probeState', {});
    await store.close();
    await store.close();
    await last;
    await assert.rejects(store.call('probeState', {}), (error) => error instanceof StoreUnavailable);
    assert.equal((await store.health()).writable, false);
  });

  test(`the clock of the store is that of this machine, or close to it (${engine})`, async (context) => {
    const store = await openStore(context);
    assert.ok(Number.isInteger(store.now()));
    assert.ok(Math.abs(store.now() - Date.now()) < 1000);
  });
});
