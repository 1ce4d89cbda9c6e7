/** The list of suites: every test file belongs to one, and every entry has files and says what it is for. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import suites from '../suites.json' with { type: 'json' };

interface Retries {
  placeOfFailure(line: string): string | undefined;
  retriedFiles(places: Set<string>, testFiles: readonly string[]): string[];
}

const folder = join(import.meta.dirname, '..');
const entries = [...Object.entries(suites.fast), ...Object.entries(suites.slow)];

function testFiles(): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.test.ts') && !path.includes('node_modules'));
}

test('every test file belongs to a suite', () => {
  const listed = new Set(entries.map(([path]) => path));
  const without = testFiles().filter((path) => !listed.has(path) && !listed.has(path.split('/')[0] ?? ''));
  assert.deepEqual(without, []);
});

test('every suite has test files and says in one line what it is for', () => {
  const files = testFiles();
  for (const [path, purpose] of entries) {
    assert.ok(existsSync(join(folder, path)), path);
    assert.ok(
      files.some((file) => file === path || file.startsWith(`${path}/`)),
      path,
    );
    assert.match(purpose, /^[A-Z].{10,110}\.$/, path);
  }
});

test('a slow suite is a folder of its own or a file of a fast one, and nothing is listed twice', () => {
  const paths = entries.map(([path]) => path);
  assert.equal(new Set(paths).size, paths.length);
  for (const path of Object.keys(suites.slow)) {
    const [room = ''] = path.split('/');
    assert.ok(!path.includes('/') || room in suites.fast, path);
  }
});

for (const name of ['test', 'ui-test']) {
  test(`scripts/${name}.mjs refuses a word that no test file has, before it installs anything`, () => {
    const program = join(folder, '../scripts', `${name}.mjs`);
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, 'test', 'no-such-word'], {
      encoding: 'utf8',
    });
    assert.deepEqual([status, stdout, stderr], [1, '', 'No test file has no-such-word in its path.\n']);
  });
}

test('.ci/run runs the fast and the slow suites', () => {
  const steps = readFileSync(join(folder, '../.ci/run'), 'utf8').split('\n');
  assert.ok(steps.includes('npm test -- --retry'));
  assert.ok(steps.includes('npm run test:all -- --slow --retry'));
});

test('.ci/run judges recorded traffic where its folder is, and says loudly where it is not', {
  skip: process.platform === 'win32' && '.ci/run is a script for bash',
}, (context) => {
  const outer = mkdtempSync(join(tmpdir(), 'polygate-ci-'));
  context.after(() => rmSync(outer, { recursive: true, force: true }));
  const [own, programs] = [join(outer, 'project/.ci'), join(outer, 'bin')];
  for (const path of [own, programs]) mkdirSync(path, { recursive: true });
  copyFileSync(join(folder, '../.ci/run'), join(own, 'run'));
  // Instead of the checks, their names; `test:corpus` fails.
  const npm = '#!/bin/sh\necho "npm $*"\n[ "$*" != "run test:corpus" ]\n';
  writeFileSync(join(programs, 'npm'), npm, { mode: 0o755 });
  const env = { ...process.env, PATH: `${programs}:${process.env.PATH}` };
  const start = () => spawnSync('bash', [join(own, 'run')], { encoding: 'utf8', env });
  const without = start();
  assert.equal(without.status, 0, without.stderr);
  assert.match(without.stdout, /\nNOT RUN: test:corpus \(no \.\.\/shared\/corpus\)\n$/);
  assert.ok(!without.stdout.includes('npm run test:corpus'));
  mkdirSync(join(outer, 'shared/corpus'), { recursive: true });
  const strict = start();
  assert.notEqual(strict.status, 0);
  assert.ok(strict.stdout.endsWith('\nnpm run test:corpus\n'));
  assert.ok(!strict.stdout.includes('NOT RUN'));
});

test('failed files are run again, if each failure is in one of a few of them', async () => {
  const scripts: Retries = await import(new URL('../../scripts/retries.mjs', import.meta.url).href);
  const { placeOfFailure, retriedFiles } = scripts;
  const files = ['test/a.test.ts', 'test/b.test.ts', 'test/c.test.ts', 'test/d.test.ts', 'test/e.test.ts'];
  assert.equal(placeOfFailure('test at test/a.test.ts:5:26'), 'test/a.test.ts');
  assert.equal(placeOfFailure('test at test\\docs\\a.test.ts:5:26'), 'test/docs/a.test.ts');
  assert.equal(placeOfFailure('  AssertionError: test at'), undefined);
  assert.deepEqual(retriedFiles(new Set(files.slice(0, 2)), files), files.slice(0, 2));
  assert.deepEqual(retriedFiles(new Set(files), files), []);
  assert.deepEqual(retriedFiles(new Set(['test/a.test.ts', 'test/harness.ts']), files), []);
});
