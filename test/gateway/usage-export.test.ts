/** `usage.export` of a gateway: its records are in the folder after their hour. */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createManualClock } from '../jobs/manual-clock.ts';
import { ask, startTestGateway } from './harness.ts';
import { eventually } from './video-client.ts';

test('a gateway exports the records of an hour that is over', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-export-'));
  const clock = createManualClock(Date.UTC(2026, 10, 18, 12, 59));
  const gateway = await startTestGateway(`usage: { export: { folder: ${JSON.stringify(folder)} } }`, { clock });
  context.after(async () => {
    await gateway.close();
    rmSync(folder, { recursive: true });
  });
  const response = await ask(gateway, { protocol: 'chat', model: 'sandbox/echo', text: 'Hi' });
  assert.equal(response.status, 200);
  const id = response.headers.get('x-polygate-generation-id');
  clock.advance(7 * 60_000);
  const files = () =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.jsonl'));
  await eventually({ clock }, () => files().length > 0);
  assert.deepEqual(files(), [join('date=2026-11-18', 'hour=12', 'part-0000.jsonl')]);
  const { model, input_tokens: input, ...record } = JSON.parse(readFileSync(join(folder, files()[0] ?? ''), 'utf8'));
  assert.deepEqual([record.id, model, input > 0], [id, 'sandbox/echo', true]);
});
