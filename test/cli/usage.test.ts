/** `polygate usage` beside a gateway's data. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { pino } from 'pino';
import { openStore } from '../../src/store/open.ts';
import { createRecorder } from '../../src/usage/recorder.ts';
import { completion, intent } from '../usage/records.ts';
import { program } from './program.ts';

test('sums by whatever is asked for, for people and for programs', { timeout: 60_000 }, async (context) => {
  const { run, folder } = program(context);
  const config = 'keys: [{ name: laptop, key: sk-test-0123456789abcdef }]\n';
  const store = await openStore({ data: `${folder}/data`, role: 'owner' });
  const log = pino({ level: 'silent' });
  const recorder = createRecorder({ store, instance: 'one', durability: 'strict', log });
  for (const [id, keyId] of [
    ['a', 'config:laptop'],
    ['b', 'config:laptop'],
    ['c', 'gone'],
  ]) {
    const request = intent(id as string, { startedAt: Date.now(), keyId: keyId as string });
    await recorder.begin(request);
    await recorder.finish(request, completion({ cost: 1_500_000n }));
  }
  await store.close();
  writeFileSync(`${folder}/polygate.yaml`, config);

  const table = await run(['usage', '--by', 'key,model']);
  assert.equal(table.code, 0, table.stderr);
  assert.deepEqual(
    table.stdout.trimEnd().split('\n'),
    [
      ['laptop', 'openai/gpt-5', '2', '0', '240', '60', '40', '0.000003'],
      ['gone', 'openai/gpt-5', '1', '0', '120', '30', '20', '0.0000015'],
      ['total', '', '3', '0', '360', '90', '60', '0.0000045'],
    ].map((cells) => cells.join('\t')),
  );
  const json = await run(['usage', '--key', 'laptop', '--from', '7d', '--json']);
  const { by, total } = JSON.parse(json.stdout);
  assert.deepEqual([by, total.requests, total.cost], [['day'], 2, '0.000003']);
  const wrong = await run(['usage', '--by', 'moon']);
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /by must be a list of day, hour, model, provider, key/);
  assert.equal((await run(['usage', '--key', 'nobody'])).code, 1);
});
