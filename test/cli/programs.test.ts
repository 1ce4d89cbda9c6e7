/** Each group of commands once as a program of its own: it prints and returns what the function behind it does. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { program } from './program.ts';

const CONFIG = 'keys: [{ name: laptop, key: sk-test-0123456789abcdef }]\n';

for (const line of [
  'serve --help',
  'check',
  'keys list --json',
  'keys show nobody',
  'audit --json',
  'models --provider sandbox',
  'usage --by key',
  'usage --by moon',
  'route sandbox/echo',
  'videos list --json',
  'nothing',
]) {
  test(`polygate ${line}`, async (context) => {
    const { folder, run, start } = program(context);
    writeFileSync(join(folder, 'polygate.yaml'), CONFIG);
    assert.equal((await run(['keys', 'create', '--name', 'ci'])).code, 0);
    const args = line.split(' ');
    assert.deepEqual(await start(args).ended, await run(args));
  });
}
