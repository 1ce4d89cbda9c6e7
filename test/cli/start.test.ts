/** What `npm start` runs: the script that any Node from 20 on understands, where everything is installed. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const installed = existsSync(join(root, 'node_modules/.polygate-installed'));

function start(args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(root, 'scripts/start.mjs'), ...args], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? 1 : 0, stdout, stderr });
    });
  });
}

describe('npm start', { skip: !installed }, () => {
  for (const [args, shown] of [
    [['--help'], /^Usage: polygate serve /],
    [['--', '--help'], /^Usage: polygate \[options\] \[command\]/],
    [['keys', '--help'], /^Usage: polygate keys /],
    [['--', '--version'], /^\d+\.\d+\.\d+/],
  ] as const) {
    test(args.join(' '), async () => {
      const { code, stdout } = await start([...args]);
      assert.match(stdout, shown);
      assert.equal(code, 0);
    });
  }

  test('passes a failure on', async () => {
    const { code, stderr } = await start(['--port', 'none']);
    assert.match(stderr, /A port is a number/);
    assert.equal(code, 1);
  });
});
