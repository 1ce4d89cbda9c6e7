/** Groups of test files that share a process: every file runs once, and hooks concern nothing but the tests of their file. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

interface Groups {
  writeGroups(files: string[]): { programs: string[]; remove(): void };
  groupProgram(files: string[], endMs?: number): string;
}

interface Suites {
  runsAlone(file: string): boolean;
  testFiles(): string[];
}

const script = (name: string): Promise<Groups & Suites> =>
  import(new URL(`../../scripts/${name}.mjs`, import.meta.url).href);

test('every test file is in one group or runs alone', async () => {
  const { writeGroups } = await script('groups');
  const { runsAlone, testFiles } = await script('suites');
  const files = testFiles();
  const groups = writeGroups(files);
  const alone = groups.programs.filter((path) => files.includes(path));
  const programs = groups.programs.filter((path) => !files.includes(path)).map((path) => readFileSync(path, 'utf8'));
  groups.remove();
  assert.deepEqual(alone, files.filter(runsAlone));
  for (const file of files.filter((path) => !runsAlone(path))) {
    assert.equal(programs.filter((text) => text.includes(`suite("${file}"`)).length, 1, file);
  }
  assert.deepEqual(
    groups.programs.filter((path) => !files.includes(path) && existsSync(path)),
    [],
  );
});

test('a hook of a file runs for its own tests only', async (context) => {
  const { groupProgram } = await script('groups');
  const folder = mkdtempSync(join(tmpdir(), 'polygate groups-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const names = ['one', 'two'];
  const files = names.map((name) => {
    const path = join(folder, `${name}.ts`);
    const text = `import { after, beforeEach, test } from 'node:test';
const print = (text: string): void => console.log('${name}: ' + text);
beforeEach(({ name }) => print('before ' + name));
after(() => print('after'));
test('${name} 1', () => {});
test('${name} 2', () => {});`;
    writeFileSync(path, text);
    return path;
  });
  writeFileSync(join(folder, 'group.mjs'), groupProgram(files));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const output = execFileSync(process.execPath, [join(folder, 'group.mjs')], { encoding: 'utf8', env });
  const lines = output.split('\n').filter((line) => /^(one|two): /.test(line));
  const expected = names.flatMap((name) =>
    [`before ${name} 1`, `before ${name} 2`, 'after'].map((line) => `${name}: ${line}`),
  );
  assert.deepEqual(lines, expected);
});

test('a group ends where something is left open, and its failures are told', async (context) => {
  const { groupProgram } = await script('groups');
  const folder = mkdtempSync(join(tmpdir(), 'polygate groups-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'open.ts');
  const text = `import { createServer } from 'node:net';
import { test } from 'node:test';
createServer().listen(0);
test('passes', () => {});
test('fails', () => { throw new Error('as it should'); });`;
  writeFileSync(file, text);
  const group = join(folder, 'group.mjs');
  writeFileSync(group, groupProgram([file], 100));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const options = { encoding: 'utf8', env, timeout: 30_000 } as const;
  const { status, stdout } = spawnSync(process.execPath, ['--test', '--test-reporter=spec', group], options);
  assert.equal(status, 1, stdout);
  assert.match(stdout, /✔ passes[\s\S]*✖ fails/);
});
