/** Records of requests: found by their ids and by those of upstreams, also those that an earlier version wrote. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { newRequestId } from '../../src/core/request-id.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { operations } from '../../src/store/operations/index.ts';
import { NAME_RETENTION_MS } from '../../src/store/request-rows.ts';
import { openSqlite } from '../../src/store/sqlite/store.ts';
import { completedRow } from '../../src/usage/record.ts';
import { completion, intent, NOON } from '../usage/records.ts';
import { forEachStore, type TestStore, temporaryData } from './stores.ts';

function record(store: TestStore, id: string, upstreamId: string, startedAt = NOON): Promise<void> {
  const row = completedRow(intent(id, { startedAt }), completion({ upstreamId }));
  return store.call('recordUsage', { begun: [], finished: [{ row, begun: false }] });
}

const find = async (store: TestStore, id: string, keyId = 'key-1') =>
  (await store.call('usageRecord', { id, keyId }))?.id;

test('look-ups of unknown ids, which step through days of names, hold up no writes', () => {
  for (const name of ['usageRecord', 'requestRecord'] as const) assert.equal(operations[name].scans, true, name);
});

forEachStore((name, open) => {
  test(`a request is found by its id and by that of the upstream, by its own key alone (${name})`, async (context) => {
    const store = await open(context);
    const ids = Array.from({ length: 50 }, (_, index) => newRequestId(NOON + index * 7_001));
    for (const [index, id] of ids.entries()) await record(store, id, `gen-${index}`, NOON + index * 7_000);
    for (const [index, id] of ids.entries()) {
      assert.equal(await find(store, id), id);
      assert.equal(await find(store, `gen-${index}`), id);
    }
    assert.deepEqual(
      [await find(store, ids[0] ?? '', 'key-2'), await find(store, 'gen-0', 'key-2')],
      [undefined, undefined],
    );
    assert.deepEqual([await find(store, 'gen-50'), await find(store, newRequestId(NOON))], [undefined, undefined]);
  });

  test(`of several answers with one id the latest is found, and ids without a time are (${name})`, async (context) => {
    const store = await open(context);
    // An id of an earlier version carries no time; another is far from the start of its request.
    const [old, early] = [`req_${'f'.repeat(32)}`, newRequestId(NOON - 10 * 3_600_000)];
    await record(store, old, 'same', NOON);
    await record(store, early, 'same', NOON + 60_000);
    assert.deepEqual(
      [await find(store, old), await find(store, early), await find(store, 'same')],
      [old, early, early],
    );
  });

  test(`names of requests are forgotten before the requests (${name})`, async (context) => {
    const store = await open(context);
    const [early, late] = [newRequestId(NOON), newRequestId(NOON + NAME_RETENTION_MS)];
    await record(store, early, 'one', NOON);
    await record(store, late, 'two', NOON + NAME_RETENTION_MS);
    const now = NOON + NAME_RETENTION_MS + 60_000;
    assert.equal(await store.call('pruneRequestNames', { now, limit: 10 }), 1);
    assert.deepEqual(
      [await find(store, 'one'), await find(store, 'two'), await find(store, early)],
      [undefined, late, early],
    );
  });
});

test('records of an earlier version stay where they are, and are found, counted and removed', async (context) => {
  const folder = temporaryData(context);
  const operations = new URL('../../src/store/operations/index.ts', import.meta.url);
  const open = () => openSqlite({ folder, role: 'owner', operations, migrations: MIGRATIONS_FOLDER });
  const first = await open();
  await first.close();
  const usage = new DatabaseSync(join(folder, 'usage.db'));
  const add = usage.prepare(`INSERT INTO usage_record (day, id, started_at, key_id, model, endpoint_provider,
    endpoint_model, protocol_in, protocol_out, stream, status, attempts, total_ms, upstream_id)
    VALUES (?, ?, ?, 'key-1', 'm', 'p', 'm', 'chat', 'chat', 0, 'completed', 1, 5, ?)`);
  for (let index = 0; index < 4; index++) {
    add.run(Math.floor(NOON / 86_400_000), `req_old${index}`, NOON - 1000 + index, `gen-old${index}`);
  }
  usage.close();
  const store = { ...(await open()), beside: open };
  context.after(() => store.close());
  await record(store, 'req_new', 'gen-new', NOON);
  assert.deepEqual([await find(store, 'req_old1'), await find(store, 'gen-old2')], ['req_old1', 'req_old2']);
  assert.equal(await store.call('newestSince', { keep: 3 }), NOON - 998);
  assert.equal(await store.call('trimUsage', { before: NOON - 998, limit: 10 }), 2);
  assert.deepEqual(
    [await find(store, 'req_old1'), await find(store, 'req_old2'), await find(store, 'req_new')],
    [undefined, 'req_old2', 'req_new'],
  );
  assert.equal(await store.call('pruneUsage', { day: Math.floor(NOON / 86_400_000) + 1, limit: 10 }), 1);
  assert.equal(await store.call('pruneUsage', { day: Math.floor(NOON / 86_400_000) + 1, limit: 10 }), 2);
});
