/** The start in a fresh clone, with a program in place of npm: the packages of the dashboard come without npm's progress. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '../..');
const NPM = `
import { appendFileSync, mkdirSync } from 'node:fs';
mkdirSync('node_modules', { recursive: true });
appendFileSync(process.env.CALLS, [process.cwd(), process.env.npm_config_progress ?? ''].join() + '\\n');
if (process.cwd().endsWith('ui')) process.exit(1);
`;
const GATEWAY = `
import { existsSync, readFileSync } from 'node:fs';
setInterval(() => {
  const calls = existsSync(process.env.CALLS) ? readFileSync(process.env.CALLS, 'utf8') : '';
  if (/ui,/.test(calls)) process.exit(0);
}, 20);
`;

test('npm shows its progress at the first start, and none beside the gateway', { timeout: 60_000 }, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-clone-'));
  context.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  // @ts-expect-error A script without types.
  const { SHARED } = await import('../../scripts/pages.mjs');
  for (const name of [
    ...SHARED,
    'scripts',
    'package.json',
    'package-lock.json',
    'ui/package.json',
    'ui/package-lock.json',
  ])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'src/main.ts'), GATEWAY);
  const npm = join(folder, 'npm-cli.js');
  writeFileSync(npm, NPM);
  const calls = join(folder, 'calls');
  const { PATH } = process.env;
  const env = { PATH, CALLS: calls, npm_execpath: npm };
  const child = spawn(process.execPath, [join(folder, 'scripts/start.mjs')], {
    cwd: folder,
    env,
    stdio: ['ignore', 2, 2],
  });
  context.after(() => child.kill('SIGKILL'));
  await once(child, 'exit');
  const lines = readFileSync(calls, 'utf8').trimEnd().split('\n');
  const shown = lines.map((line) => line.split(',')).map(([cwd = '', progress]) => [basename(cwd), progress]);
  assert.deepEqual(shown, [
    [basename(folder), ''],
    ['ui', 'false'],
  ]);
});
