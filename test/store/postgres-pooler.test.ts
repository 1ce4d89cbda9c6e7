/** PostgreSQL behind a pooler of connections. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { Secret } from '../../src/security/secret.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { ENGINE_OPERATIONS, engineStore } from './engine-store.ts';
import { providePostgres } from './postgres-server.ts';
import { startProxy } from './proxy.ts';

const PLACES = { operations: ENGINE_OPERATIONS, migrations: MIGRATIONS_FOLDER };

test('a connection begins with no parameter that a pooler refuses, and has timeouts', async (context) => {
  const { url, close } = await providePostgres();
  const { hostname, port } = new URL(url);
  const proxy = await startProxy(hostname, Number(port));
  // As the name of a parameter ends in the first message of a connection.
  proxy.cutAt('timeout\0', { passes: false });
  const store = await openPostgres({ url: new Secret(url.replace(`:${port}/`, `:${proxy.port}/`)), ...PLACES });
  context.after(async () => {
    await store.close();
    await proxy.close();
    await close();
  });
  const sql =
    "SELECT current_setting('statement_timeout') AS run, current_setting('idle_in_transaction_session_timeout') AS idle";
  assert.deepEqual(await engineStore(store).call('ask', { sql, row: {} }), [{ run: '10s', idle: '10s' }]);
});

test('a pooler that shares sessions among connections is refused at the start', async (context) => {
  const { url, close } = await providePostgres();
  context.after(close);
  // All connections seem to have one session.
  const database = new URL(url).pathname.slice(1);
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('CREATE FUNCTION pg_backend_pid() RETURNS integer LANGUAGE sql RETURN 7');
  await client.query(`ALTER DATABASE ${database} SET search_path = public, pg_catalog`);
  await client.end();
  await assert.rejects(openPostgres({ url: new Secret(url), ...PLACES }), /shares its sessions .* use session pooling/);
});
