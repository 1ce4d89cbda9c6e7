/** Reports of one key read the sums of that key alone. */

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { MIGRATIONS_FOLDER, readMigrations } from '../../src/store/migrations.ts';

test('the sums of a key are found by the key', () => {
  const database = new DatabaseSync(':memory:');
  for (const { sql } of readMigrations(MIGRATIONS_FOLDER, 'usage', 'sqlite')) database.exec(sql);
  const plan = database
    .prepare("EXPLAIN QUERY PLAN SELECT SUM(requests) FROM usage_hour WHERE hour >= 1 AND hour < 9 AND key_id = 'k'")
    .all();
  assert.match(String(plan[0]?.detail), /USING INDEX usage_hour_key \(key_id=\? AND hour>\? AND hour<\?\)/);
  database.close();
});
