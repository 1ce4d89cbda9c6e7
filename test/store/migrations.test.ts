/** Schema migrations between versions: newer stores that an older program may use, and the rules of migrations that come. */

import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { isAtLeast, version } from '../../src/core/version.ts';
import { Secret } from '../../src/security/secret.ts';
import { compareMigrations, MIGRATIONS_FOLDER, readMigrations } from '../../src/store/migrations.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { providePostgres } from './postgres-server.ts';
import { forEachStore, temporaryData } from './stores.ts';

/** Migrations of before a store could tell which versions may use it: every version has them. */
const FIRST_MIGRATIONS = { state: 9, usage: 7 };

function migrationFolder(context: TestContext): { folder: string; migrations: URL } {
  const folder = join(temporaryData(context), 'migrations');
  cpSync(MIGRATIONS_FOLDER, folder, { recursive: true });
  return { folder, migrations: pathToFileURL(`${folder}/`) };
}

/** Opens a store where there is none yet; every call opens the same one. */
async function emptyPlace(context: TestContext, engine: Store['engine']): Promise<() => Promise<Store>> {
  const stores: Store[] = [];
  context.after(() => Promise.all(stores.map((store) => store.close())));
  const folder = temporaryData(context);
  const database = engine === 'postgres' ? await providePostgres() : undefined;
  if (database) context.after(database.close);
  const place = database ? { data: folder, postgres: new Secret(database.url) } : { data: folder };
  return async () => {
    const store = await openStore({ ...place, role: 'guest', createIfMissing: true });
    stores.push(store);
    return store;
  };
}

forEachStore((engine, openTestStore) => {
  describe(`a store that a newer version has migrated (${engine})`, () => {
    test('is used by a version that the migration is compatible with, and migrated further by others', async (context) => {
      const { folder, migrations } = migrationFolder(context);
      const later = join(folder, 'usage', '9000-later.sql');
      writeFileSync(later, `-- @compatible_from ${version}\nALTER TABLE instance ADD COLUMN later text;\n`);
      const store = await openTestStore(context, { migrations });
      rmSync(later);
      const older = await store.beside();
      assert.deepEqual(await older.health(), { writable: true });
      const beat = { id: 'an-older-gateway', now: 1, until: 2, exclusive: false };
      await older.call('heartbeat', beat);
      writeFileSync(
        join(folder, 'state', '9001-last.sql'),
        `-- @compatible_from ${version}\nCREATE TABLE last (id {int});\n`,
      );
      const newest = await store.beside();
      assert.equal(await newest.call('lastHeartbeat', {}), 2);
    });

    test('is refused by an older version than that, with the reason', async (context) => {
      const { folder, migrations } = migrationFolder(context);
      const later = join(folder, 'state', '9000-later.sql');
      writeFileSync(later, '-- @compatible_from 99.0.0\nCREATE TABLE later (id {int});\n');
      const store = await openTestStore(context, { migrations });
      rmSync(later);
      await assert.rejects(store.beside(), {
        code: 'unavailable',
        message: `The store was made by a newer version of this program: it has state/9000-later.sql, which needs version 99.0.0 or newer; this is ${version}.`,
      });
    });

    test('is made once by three that start at the same moment on nothing', async (context) => {
      const open = await emptyPlace(context, engine);
      const stores = await Promise.all([open(), open(), open()]);
      for (const store of stores) assert.deepEqual(await store.health(), { writable: true });
    });
  });
});

test('the oldest compatible version decides, not the number of a migration', () => {
  const applied = (compatibleFrom: string | null) => [{ name: 'state/9000-later.sql', checksum: 'x', compatibleFrom }];
  assert.deepEqual(
    compareMigrations([], applied('1.4.0'), '1.4.0').newer.map(({ name }) => name),
    ['state/9000-later.sql'],
  );
  assert.throws(
    () => compareMigrations([], applied('1.4.0'), '1.3.9'),
    /needs version 1\.4\.0 or newer; this is 1\.3\.9\./,
  );
  assert.throws(() => compareMigrations([], applied(null), '1.4.0'), /it has state\/9000-later\.sql\.$/);
});

/** Migrations that take something away: each at least two releases after the version that stopped using it. */
const REMOVALS = new Set<string>();

/** Statements that an older program does not notice. */
const ADDITIONS = [
  /^CREATE TABLE /,
  /^CREATE (UNIQUE )?INDEX /,
  /^ALTER TABLE \w+ ADD COLUMN \w+ (text|\{int\}|\{blob\}|bigint|bytea)( (NOT NULL )?DEFAULT [^,]+)?$/,
  // Of a trigger that changes only a table which such a program does not have.
  /^CREATE TRIGGER \w+ AFTER (INSERT|UPDATE) ON \w+ BEGIN DELETE FROM usage_day_state /,
  /^END$/,
];

describe('every migration', () => {
  for (const [database, count] of Object.entries(FIRST_MIGRATIONS)) {
    const files = readdirSync(new URL(`${database}/`, MIGRATIONS_FOLDER)).filter((file) => file.endsWith('.sql'));
    test(`of ${database} has a number of its own`, () => {
      const numbers = files.map((file) => file.slice(0, 4));
      assert.deepEqual(numbers, [...new Set(numbers)]);
    });
    for (const file of files.sort().slice(count)) {
      test(`${database}/${file} says which versions may use it, and only adds where this one may`, () => {
        const known = readMigrations(MIGRATIONS_FOLDER, database as 'state' | 'usage', 'sqlite');
        const { compatibleFrom } = known.find(({ name }) => name === `${database}/${file}`) ?? {};
        assert.ok(compatibleFrom, 'a line such as "-- @compatible_from 1.2.3" is missing');
        assert.ok(isAtLeast(version, compatibleFrom), 'compatible_from is a version that exists');
        const text = readFileSync(new URL(`${database}/${file}`, MIGRATIONS_FOLDER), 'utf8');
        const statements = text
          .replaceAll(/^-- @postgres$.*?^-- @both$/gms, '')
          .replaceAll(/--.*$/gm, '')
          .split(';')
          .map((statement) => statement.trim().replaceAll(/\s+/g, ' '))
          .filter((statement) => statement !== '');
        const changes = statements.filter((statement) => !ADDITIONS.some((addition) => addition.test(statement)));
        if (!REMOVALS.has(`${database}/${file}`)) assert.deepEqual(changes, []);
      });
    }
  }
});
