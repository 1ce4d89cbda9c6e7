/** PostgreSQL behind a pooler of connections. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from 'pg';
import { Secret } from '../../src/security/secret.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { createMigrationPool, createPool } from '../../src/store/postgres/pool.ts';
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

for (const { about, session } of [
  { about: 'has one session', session: '7' },
  { about: 'takes two sessions in turn', session: "CAST(nextval('turn') % 2 AS integer)" },
])
  test(`a pooler that ${about} for all connections is refused at the start, and keeps no setting`, async (context) => {
    const { url, close } = await providePostgres();
    const { hostname, port, pathname } = new URL(url);
    const proxy = await startProxy(hostname, Number(port));
    context.after(async () => {
      await proxy.close();
      await close();
    });
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query('CREATE SEQUENCE turn');
    await client.query(`CREATE FUNCTION pg_backend_pid() RETURNS integer LANGUAGE sql RETURN ${session}`);
    await client.query(`ALTER DATABASE ${pathname.slice(1)} SET search_path = public, pg_catalog`);
    await client.end();
    // A setting would end its connection, and the start with that.
    proxy.cutAt('SET ', { passes: false });
    await assert.rejects(
      openPostgres({ url: new Secret(url.replace(`:${port}/`, `:${proxy.port}/`)), ...PLACES }),
      /shares its sessions .* use session pooling/,
    );
  });

test('a file of the URL that cannot be read fails those who wait for a connection, until it can be read', async (context) => {
  const { url, close } = await providePostgres();
  const folder = mkdtempSync(join(tmpdir(), 'polygate-'));
  const file = join(folder, 'authority.pem');
  writeFileSync(file, '');
  const pool = createPool(`${url}?sslmode=disable&sslrootcert=${file}`, 1);
  context.after(async () => {
    await pool.end();
    await close();
    rmSync(folder, { recursive: true });
  });
  const client = await pool.connect();
  const waiting = assert.rejects(pool.connect(), /ENOENT.*authority\.pem/);
  rmSync(file);
  client.release(new Error('lost'));
  await waiting;
  writeFileSync(file, '');
  assert.equal((await pool.query('SELECT 1 AS one')).rows[0].one, 1);
});

test('an unused connection stays for a minute', async (context) => {
  const { url, close } = await providePostgres();
  const pool = createPool(url, 1);
  context.after(async () => {
    await pool.end();
    await close();
  });
  context.mock.timers.enable({ apis: ['setTimeout'] });
  await pool.query('SELECT');
  context.mock.timers.tick(60_000);
  assert.equal(pool.totalCount, 1);
});

for (const [about, create] of [
  ['a pool', (url: string) => createPool(url, 1)],
  ['the pool of migrations', createMigrationPool],
] as const)
  test(`${about} gives up a connection whose server is silent from its settings on`, async (context) => {
    const { url, close } = await providePostgres();
    const { hostname, port } = new URL(url);
    const proxy = await startProxy(hostname, Number(port));
    const pool = create(url.replace(`:${port}/`, `:${proxy.port}/`));
    context.after(async () => {
      await proxy.close();
      await pool.end();
      await close();
    });
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const silent = proxy.silenceAt('SET ');
    const refused = assert.rejects(pool.connect(), /Query read timeout/);
    await silent;
    context.mock.timers.tick(5000);
    // Ends one that was not given up.
    await proxy.cut();
    await refused;
    assert.equal(pool.totalCount, 0);
  });
