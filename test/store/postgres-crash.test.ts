/** Commit outcome after a server crash: the transaction id may belong to another transaction. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Secret } from '../../src/security/secret.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { query, startPrimary } from '../chaos/postgres-cluster.ts';
import { openStage } from '../chaos/stage.ts';
import { ENGINE_OPERATIONS, engineStore } from './engine-store.ts';
import { startProxy } from './proxy.ts';

test('a transaction that a crash took back does not count as committed because another has its id', async (context) => {
  const { stage, close } = openStage();
  context.after(close);
  // Nothing but a commit writes the log, so that the crash takes back what was not committed.
  const server = await startPrimary(stage, ['wal_writer_delay=10s', 'bgwriter_delay=10s']);
  const proxy = await startProxy('127.0.0.1', server.port);
  stage.atEnd(proxy.close);
  const store = await openPostgres({
    ...{ url: new Secret(server.url.replace(`:${server.port}/`, `:${proxy.port}/`)), operations: ENGINE_OPERATIONS },
    migrations: MIGRATIONS_FOLDER,
  });
  stage.atEnd(store.close);
  const { call } = engineStore(store);
  await call('put', { subject: 'before', value: 1 });
  proxy.cutAt('COMMIT\0', { passes: false, all: true });
  const outcome = call('put', { subject: 'lost', value: 1 }).then(
    () => 'done',
    (error: unknown) => error,
  );
  await wait(300);
  const [last] = (await query(server.url, 'SELECT CAST(pg_current_xact_id() AS text) AS id')) as { id: string }[];
  await server.kill();
  await server.start();
  const written = [];
  for (let number = 0; number < 20; number++) {
    const sql = `INSERT INTO version (subject, value) VALUES ('other ${number}', 1) RETURNING CAST(pg_current_xact_id() AS text) AS id`;
    written.push(...((await query(server.url, sql)) as { id: string }[]));
  }
  assert.ok(Number(written[0]?.id) <= Number(last?.id), 'no id was given out again');
  await proxy.mend();
  assert.ok((await outcome) instanceof StoreUnavailable, String(await outcome));
  assert.equal(await call('get', { subject: 'lost' }), undefined);
});
