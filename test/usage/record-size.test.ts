/** The size limit of usage records counts records: what one takes on the disk is as large as the limit supposes. */

import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { newRequestId } from '../../src/core/request-id.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { OPERATIONS_MODULE } from '../../src/store/open.ts';
import { openSqlite } from '../../src/store/sqlite/store.ts';
import { encodeEnd } from '../../src/usage/journal/records.ts';
import { RECORD_BYTES } from '../../src/usage/retention.ts';
import { temporaryData } from '../store/stores.ts';
import { completion, intent, NOON } from './records.ts';

const RECORDS = 20_000;
const BATCH = 2_000;
/** Milliseconds between two requests. */
const INTERVAL_MS = 5;
const KEYS = Array.from({ length: 20 }, () => randomUUID());
/** Of a request without a choice, by a client and an upstream that name themselves. */
const TRACE = `{"a":[["openai/gpt-5","passthrough",0,412,2910,200]],"k":[1,0],"h":["OpenAI/Python 2.8.0"],"r":[["req_${'8f1c'.repeat(8)}",null,"388"]],"u":"i1204x0.00000125 o310x0.00001"}`;
/** Share of its size by which a record may differ. */
const TOLERANCE = 0.1;

test('a record takes as many bytes as the size limit supposes', async (context) => {
  const folder = temporaryData(context);
  const store = await openSqlite({
    ...{ folder, role: 'owner', operations: OPERATIONS_MODULE, migrations: MIGRATIONS_FOLDER },
  });
  for (let first = 0; first < RECORDS; first += BATCH) {
    const records = Array.from({ length: BATCH }, (_, index) => {
      const startedAt = NOON + (first + index) * INTERVAL_MS;
      const request = intent(newRequestId(startedAt), { startedAt, keyId: KEYS[index % KEYS.length] ?? '' });
      return encodeEnd(
        request,
        completion({ upstreamId: `chatcmpl-${randomBytes(15).toString('base64url')}`, trace: TRACE }),
      );
    });
    const position = { segment: 1, offset: first + BATCH, oldest: 1 };
    await store.call('storeJournalBatch', { journal: 'journal', position, records });
  }
  await store.close();
  const size = statSync(join(folder, 'usage.db')).size / RECORDS;
  assert.ok(Math.abs(size / RECORD_BYTES - 1) < TOLERANCE, `${size} bytes`);
});
