/** Gateways on one database know how many they are. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { joinStore, watchGateways } from '../../src/store/instance.ts';
import { openTestPostgres, openTestSqlite } from './stores.ts';

const log = { warn() {} };

test('on PostgreSQL they are counted as they come and go', async (context) => {
  const store = await openTestPostgres(context);
  const joined = [await joinStore(store, log), await joinStore(store, log), await joinStore(store, log)];
  const count = async (expected: number) => {
    const gateways = watchGateways(store, log);
    while (gateways.count() !== expected) await pause(5);
    gateways.close();
  };
  await count(3);
  await joined[0]?.close();
  await count(2);
  await Promise.all(joined.map((instance) => instance.close()));
});

test('on SQLite there is one', async (context) => {
  const store = await openTestSqlite(context);
  const instance = await joinStore(store, log);
  assert.equal(watchGateways(store, log).count(), 1);
  await instance.close();
});
