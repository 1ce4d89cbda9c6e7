/** PostgreSQL engine under faults: outages, closed connections, conflicting transactions. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Client, DatabaseError } from 'pg';
import { systemClock } from '../../src/core/clock.ts';
import { openKeyStore } from '../../src/keys/store.ts';
import { Secret } from '../../src/security/secret.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { openStore } from '../../src/store/open.ts';
import { toStoreError } from '../../src/store/postgres/failure.ts';
import { openPostgres, type PostgresOptions } from '../../src/store/postgres/store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { ENGINE_OPERATIONS, type EngineStore, engineStore } from './engine-store.ts';
import { providePostgres } from './postgres-server.ts';
import { startProxy, type TestProxy } from './proxy.ts';
import { temporaryData } from './stores.ts';

interface Opened {
  store: EngineStore;
  proxy: TestProxy;
  /** The way around the proxy. */
  url: string;
}

async function opened(
  context: TestContext,
  options: Pick<PostgresOptions, 'timeoutMs' | 'clock'> = {},
): Promise<Opened> {
  const { url, close } = await providePostgres();
  const address = new URL(url);
  const proxy = await startProxy(address.hostname, Number(address.port));
  const proxied = new Secret(url.replace(`:${address.port}/`, `:${proxy.port}/`));
  const places = { operations: ENGINE_OPERATIONS, migrations: MIGRATIONS_FOLDER };
  const store = await openPostgres({ url: proxied, ...places, ...options });
  context.after(async () => {
    await proxy.close();
    await store.close();
    await close();
  });
  return { store: engineStore(store), proxy, url };
}

const unavailable = (error: unknown) => error instanceof StoreUnavailable && error.problem !== '';

describe('a PostgreSQL that is away', () => {
  test('fails what is asked for at once, and works again when it is back', async (context) => {
    const { store, proxy } = await opened(context);
    await store.call('put', { subject: 'a', value: 1 });
    const wandering = store.call('putAndWander', { subject: 'lost', value: 1, milliseconds: 200 });
    await wait(50);
    await proxy.cut();
    await assert.rejects(wandering, unavailable);
    const asked = performance.now();
    await assert.rejects(store.call('put', { subject: 'b', value: 1 }), unavailable);
    await assert.rejects(store.call('get', { subject: 'a' }), unavailable);
    const { writable, problem } = await store.health();
    assert.equal(writable, false);
    assert.match(problem ?? '', /ECONNREFUSED/);
    assert.ok(performance.now() - asked < 5000);

    await proxy.mend();
    await Promise.all(['b', 'c', 'd'].map((subject) => store.call('put', { subject, value: 1 })));
    assert.deepEqual(await store.health(), { writable: true });
    assert.equal(await store.call('get', { subject: 'a' }), 1);
    assert.equal(await store.call('get', { subject: 'lost' }), undefined);
  });

  test('is refused at the start in words that keep the password', async () => {
    const postgres = new Secret('postgres://somebody:never-to-be-seen@127.0.0.1:1/database');
    await assert.rejects(openStore({ data: '', postgres, role: 'owner' }), (error: Error) => {
      assert.match(
        error.message,
        /The PostgreSQL database named by data in the configuration cannot be used: .*ECONNREFUSED/,
      );
      assert.ok(!error.message.includes('never'));
      return true;
    });
  });

  test('because somebody ended the connection is asked again on another', async (context) => {
    const { store } = await opened(context);
    const sql = 'SELECT pg_terminate_backend(pg_backend_pid())';
    await assert.rejects(store.call('tell', { sql, row: {} }), unavailable);
    await assert.rejects(store.call('ask', { sql, row: {} }), unavailable);
    await store.call('put', { subject: 'a', value: 1 });
  });
});

describe('a migration beside a running gateway', () => {
  const changes = ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => ({ id, name: id }));

  test('leaves no statement behind that fails for its new columns', async (context) => {
    const { url, close } = await providePostgres();
    const store = await openStore({ data: '', postgres: new Secret(url), role: 'owner' });
    const client = new Client({ connectionString: url });
    await client.connect();
    context.after(async () => {
      await client.end();
      await store.close();
      await close();
    });
    const keys = await openKeyStore({ store, folder: temporaryData(context), configured: [] });
    for (const { name } of changes) await keys.create({ name });
    // Each on a connection of its own, which has the statement then.
    const changeAll = () => Promise.all(changes.map(({ name }) => keys.update(name, { disabled: false })));
    const readAll = () => Promise.all(changes.map(() => store.call('readAudit', { limit: 1 })));
    await Promise.all([changeAll(), readAll()]);
    for (const column of ['one', 'two', 'three']) {
      await client.query(`ALTER TABLE api_key ADD COLUMN ${column} text; ALTER TABLE audit ADD COLUMN ${column} text`);
      await Promise.all([changeAll(), readAll()]);
    }
  });

  test('waits for a table in use without holding up others for long, and is applied then', async (context) => {
    const { url, close } = await providePostgres();
    const folder = join(temporaryData(context), 'migrations');
    cpSync(MIGRATIONS_FOLDER, folder, { recursive: true });
    const options = { url: new Secret(url), operations: ENGINE_OPERATIONS, migrations: pathToFileURL(`${folder}/`) };
    const store = engineStore(await openPostgres(options));
    const client = new Client({ connectionString: url });
    await client.connect();
    context.after(async () => {
      await client.end();
      await store.close();
      await close();
    });
    writeFileSync(join(folder, 'state', '9000-later.sql'), 'ALTER TABLE version ADD COLUMN later text;\n');
    await client.query('BEGIN; LOCK TABLE version IN ACCESS SHARE MODE');
    const migrated = openPostgres(options);
    // Behind the migration in the queue for the table, until that gives up for a moment.
    const sql = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'ALTER TABLE version%'";
    while ((await store.call('ask', { sql, row: {} })).length === 0);
    await store.call('put', { subject: 'a', value: 1 });
    await client.query('ROLLBACK');
    const other = await migrated;
    assert.deepEqual(await store.call('ask', { sql: 'SELECT later FROM version', row: {} }), [{ later: null }]);
    await other.close();
  });
});

/** As it ends in a message to the server, unlike in the name of an isolation level. */
const COMMIT = 'COMMIT\0';

describe('a connection that ends at COMMIT', () => {
  test('after the server has it: the operation has succeeded, once', async (context) => {
    const { store, proxy } = await opened(context);
    await store.call('put', { subject: 'count', value: 0 });
    proxy.cutAt(COMMIT);
    assert.equal(await store.call('increment', { subject: 'count' }), 1);
    assert.equal(await store.call('get', { subject: 'count' }), 1);
  });

  test('before the server has it: the operation has failed', async (context) => {
    const { store, proxy } = await opened(context);
    await store.call('put', { subject: 'count', value: 0 });
    proxy.cutAt(COMMIT, { passes: false });
    await assert.rejects(store.call('increment', { subject: 'count' }), unavailable);
    assert.equal(await store.call('get', { subject: 'count' }), 0);
  });

  test('and the server stays away: nobody knows, and the caller is told within the timeout', async (context) => {
    const { store, proxy } = await opened(context, { timeoutMs: 300 });
    await store.call('put', { subject: 'count', value: 0 });
    proxy.cutAt(COMMIT, { all: true });
    await assert.rejects(store.call('increment', { subject: 'count' }), unavailable);
    await proxy.mend();
    assert.equal(await store.call('get', { subject: 'count' }), 1);
  });
});

test('a PostgreSQL that is read-only says so, and works when it is not', async (context) => {
  const { store, url } = await opened(context);
  const administrator = new Client({ connectionString: url });
  await administrator.connect();
  const name = new URL(url).pathname.slice(1);
  const reconnect =
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()';
  await administrator.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  await administrator.query(reconnect, [name]);
  await wait(50);
  await assert.rejects(store.call('put', { subject: 'a', value: 1 }), unavailable);
  const { writable, problem } = await store.health();
  assert.equal(writable, false);
  assert.match(problem ?? '', /read-only/);
  await administrator.query('SET default_transaction_read_only = off');
  await administrator.query(`ALTER DATABASE ${name} SET default_transaction_read_only = off`);
  await administrator.query(reconnect, [name]);
  await administrator.end();
  await wait(50);
  await store.call('put', { subject: 'a', value: 1 });
});

describe('transactions in each other’s way', () => {
  test('run again, but not for ever', async (context) => {
    const { store } = await opened(context);
    assert.equal(await store.call('collide', { times: 3 }), 4);
    await assert.rejects(store.call('collide', { times: 5 }), unavailable);
    assert.equal(await store.call('collide', { times: 0 }), 6);
  });

  test('wait for a connection when there are more of them than connections', async (context) => {
    const { store } = await opened(context);
    await store.call('put', { subject: 'count', value: 0 });
    await Promise.all(Array.from({ length: 100 }, () => store.call('increment', { subject: 'count' })));
    assert.equal(await store.call('get', { subject: 'count' }), 100);
  });

  test('fail as the store’s fault when one waits for too long', async (context) => {
    const { store, url } = await opened(context, { timeoutMs: 300 });
    await store.call('put', { subject: 'count', value: 0 });
    const holder = new Client({ connectionString: url });
    await holder.connect();
    await holder.query("BEGIN; SELECT value FROM version WHERE subject = 'count' FOR UPDATE");
    await assert.rejects(store.call('increment', { subject: 'count' }), unavailable);
    await holder.end();
    assert.equal(await store.call('increment', { subject: 'count' }), 1);
  });

  test('are not committed when a statement of theirs failed', async (context) => {
    const { store } = await opened(context);
    await assert.rejects(store.call('swallow', { subject: 'a', value: 1 }), /went on after a statement that failed/);
    assert.equal(await store.call('get', { subject: 'a' }), undefined);
  });
});

test('reports that take long hold up neither heartbeats nor limits nor changes', async (context) => {
  const { store, url } = await opened(context);
  const holder = new Client({ connectionString: url });
  await holder.connect();
  await holder.query('BEGIN; LOCK TABLE usage_hour, delivery IN ACCESS EXCLUSIVE MODE');
  const reports = Array.from({ length: 20 }, () => [
    store.call('usageByDay', {}),
    store.call('countDeliveries', {}),
  ]).flat();
  const ended = Promise.allSettled(reports);
  const now = store.now();
  const asked = performance.now();
  await Promise.all([
    store.call('heartbeat', { id: 'one', now, until: now + 1000, exclusive: false }),
    store.call('takeAllowance', { name: 'one', windowAt: now, limit: 5, want: 1, alreadyUsed: 0 }),
    store.call('put', { subject: 'a', value: 1 }),
  ]);
  assert.ok(performance.now() - asked < 4000);
  await holder.query('ROLLBACK');
  await holder.end();
  for (const { status } of await ended) assert.equal(status, 'fulfilled');
});

for (const [words, jump] of [
  ['forward', 3_600_000],
  ['back', -3_600_000],
] as const) {
  test(`a clock of this machine that is set ${words} by an hour does not move the time that gateways share`, async (context) => {
    const { now } = systemClock;
    let offset = 0;
    const { store } = await opened(context, { clock: { ...systemClock, now: () => now() + offset } });
    offset = jump;
    for (let look = 0; look < 10; look++) {
      assert.ok(Math.abs(store.now() - now()) < 1000, `off by ${store.now() - now()} ms`);
      await wait(20);
    }
  });
}

test('the server of the tests ends when the last that used it is killed', async (context) => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'postgres-user.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  context.after(() => child.kill('SIGKILL'));
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  const { port } = new URL(String(line).trim());
  assert.ok(await accepts(Number(port)));
  child.kill('SIGKILL');
  const giveUp = AbortSignal.timeout(15_000);
  while (await accepts(Number(port))) {
    giveUp.throwIfAborted();
    await wait(100);
  }
});

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

test('its time is never ahead of the server’s, though questions and answers take long', async (context) => {
  const { store, url } = await opened(context);
  const server = new Client({ connectionString: url });
  await server.connect();
  for (let look = 0; look < 50; look++) {
    const before = store.now();
    const { rows } = await server.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now');
    assert.ok(before <= Number(rows[0]?.now));
  }
  await server.end();
});

test('a transaction that the server ended, or a prepared statement that a pooler lost, is one of an unavailable store', () => {
  for (const [code, isOver] of [
    ['25P03', true],
    ['25P04', true],
    ['25006', true],
    ['25P02', false],
    ['26000', true],
    ['42P05', true],
  ] as const) {
    const error = Object.assign(new DatabaseError('it is over', 0, 'error'), { code });
    assert.equal(toStoreError(error) instanceof StoreUnavailable, isOver, code);
  }
});
