/** Files of lists: how many are sent at once. */

import assert from 'node:assert/strict';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import { listFile } from '../../src/http/list-file.ts';

test('a file beyond those that are being sent is refused for five seconds', async (context) => {
  const ask = () => listFile({ name: 'videos', columns: ['id'] }, async () => ({ rows: [], next: undefined }));
  const files = [await ask(), await ask(), await ask(), await ask()];
  context.after(() => files.map(({ text }) => (text as Readable).destroy()));
  await assert.rejects(ask(), { code: 'rate_limit_exceeded', retryAfter: 5000 });
});
