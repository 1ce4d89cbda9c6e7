/** Remains of a broken download: removed by a running gateway. */

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createManualClock } from '../jobs/manual-clock.ts';
import { startTestGateway } from './harness.ts';

const HOUR = 3_600_000;

test('a part that nobody goes on with is removed within an hour after a day', async (context) => {
  const clock = createManualClock(Date.now());
  const gateway = await startTestGateway('', { clock });
  context.after(() => gateway.close());
  const folder = join(gateway.folder, 'videos', '0b9e6c1e-5d0f-4a53-9a0c-6a2f5f1f0e11');
  mkdirSync(folder, { recursive: true });
  const [old, fresh] = [join(folder, '0.part'), join(folder, '1.part')];
  for (const path of [old, fresh]) writeFileSync(path, 'video');
  const yesterday = (clock.now() - 24 * HOUR) / 1000;
  utimesSync(old, yesterday, yesterday);
  clock.advance(HOUR);
  while (existsSync(old)) await pause(20);
  assert.ok(existsSync(fresh));
});
