/** Statements that run often read few rows: reports of one key, and heartbeats. */

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { MIGRATIONS_FOLDER, readMigrations } from '../../src/store/migrations.ts';
import type { Row } from '../../src/store/operation.ts';
import { heartbeat } from '../../src/store/operations/instances.ts';
import { createSession } from '../../src/store/sqlite/transaction.ts';

test('the sums of a key are found by the key', () => {
  const database = new DatabaseSync(':memory:');
  for (const { sql } of readMigrations(MIGRATIONS_FOLDER, 'usage', 'sqlite')) database.exec(sql);
  const plan = database
    .prepare("EXPLAIN QUERY PLAN SELECT SUM(requests) FROM usage_hour WHERE hour >= 1 AND hour < 9 AND key_id = 'k'")
    .all();
  assert.match(String(plan[0]?.detail), /USING INDEX usage_hour_key \(key_id=\? AND hour>\? AND hour<\?\)/);
  database.close();
});

test('a heartbeat does not read the holds of others', async () => {
  const database = new DatabaseSync(':memory:');
  for (const { sql } of readMigrations(MIGRATIONS_FOLDER, 'usage', 'sqlite')) database.exec(sql);
  database.exec("INSERT INTO hold (subject, instance, amount) VALUES ('key', 'gone', 1)");
  const { writing } = createSession(database);
  const statements: string[] = [];
  const noted =
    <Result>(run: (sql: string, values?: Row) => Result) =>
    (sql: string, values?: Row) => {
      statements.push(sql);
      return run(sql, values);
    };
  const transaction = { ...writing, all: noted(writing.all), run: noted(writing.run) };
  await heartbeat.run(transaction, { id: 'here', now: 1, until: 2, exclusive: false });
  assert.deepEqual(database.prepare('SELECT * FROM hold').all(), []);
  const steps = statements.flatMap((sql) => database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all());
  const details = steps.map(({ detail }) => String(detail)).filter((detail) => / (hold|inflight)\b/.test(detail));
  assert.ok(details.length > 2);
  for (const detail of details) assert.match(detail, /^SEARCH /);
  database.close();
});
