/** The command in a clone of the project: its standard output is that of the program alone, so that scripts can read it. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '../..');

test('npm run --silent polygate -- prints only the output of the command', async () => {
  const args = ['run', '--silent', 'polygate', '--', '--version'];
  const { stdout, stderr } = await promisify(execFile)('npm', args, { cwd: ROOT });
  assert.equal(stdout, `${JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version}\n`);
  assert.doesNotMatch(stderr, /dashboard/);
});
