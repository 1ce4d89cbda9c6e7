/** A reader that leaves early, such as `head`, is no failure. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';

const main = join(import.meta.dirname, '../../src/main.ts');

test('a list whose reader is gone ends quietly', async () => {
  const child = spawn(process.execPath, [main, 'models'], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  assert.equal(errors, '');
  assert.equal(code, 0);
});
