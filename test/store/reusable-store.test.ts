/** Stores that tests use in turn: each test finds an empty one, with the guards of a new one. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Row } from '../../src/store/operation.ts';
import { type ReusableStore, useStore } from './reusable-store.ts';

const OPERATIONS = new URL('../videos/operations.ts', import.meta.url);

const ENTRY = { id: 1, at: 1, actor: 'admin', action: 'key.created', subject: 'key-1' };

type Call = (name: string, parameters: object) => Promise<unknown>;

const call = ({ store }: ReusableStore, name: string, parameters: object) =>
  (store.call as unknown as Call)(name, parameters);
const insert = (used: ReusableStore, table: string, rows: Row[]) => call(used, 'insertRows', { table, rows });
const count = (used: ReusableStore, table: string) => call(used, 'countRows', { table });

test('the next test finds no rows and no files of the one before, and the audit log still only grows', async () => {
  const first = await useStore(OPERATIONS);
  await insert(first, 'audit', [ENTRY]);
  assert.equal(await count(first, 'audit'), 1);
  writeFileSync(join(first.folder, 'left'), '');
  await first.release();
  const second = await useStore(OPERATIONS);
  assert.equal(second.folder, first.folder);
  assert.equal(await count(second, 'audit'), 0);
  assert.deepEqual(
    readdirSync(second.folder).filter((name) => !/^(state|usage|lock)\.db/.test(name)),
    [],
  );
  await insert(second, 'audit', [ENTRY]);
  await assert.rejects(call(second, 'clearTable', { table: 'audit' }), /the audit log only grows/);
  await second.release();
});

test('what is left of the test before cannot write into the store of the next', async () => {
  const first = await useStore(OPERATIONS);
  await first.release();
  await assert.rejects(count(first, 'audit'), { problem: 'the store is closed' });
});

test('a store that a test has closed is not used again', async () => {
  const first = await useStore(OPERATIONS);
  await first.store.close();
  await first.release();
  assert.equal(existsSync(first.folder), false);
  const second = await useStore(OPERATIONS);
  assert.notEqual(second.folder, first.folder);
  await second.release();
});
