/** Groups of test files that share a process: every file runs once, and hooks concern nothing but the tests of their file. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

interface Groups {
  writeGroups(files: string[]): { programs: string[]; fileOf(path: string): string; remove(): void };
  groupProgram(files: string[], options?: { endMs?: number; preload?: string }): string;
  fileProgram(file: string, options?: { endMs?: number }): string;
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
  const texts = groups.programs.map((path) => readFileSync(path, 'utf8'));
  const alone = groups.programs.map(groups.fileOf).filter((path) => files.includes(path));
  groups.remove();
  assert.deepEqual(alone, files.filter(runsAlone));
  const shared = files.filter((path) => !runsAlone(path));
  for (const file of shared) assert.equal(texts.filter((text) => text.includes(`suite("${file}"`)).length, 1, file);
  for (const file of alone) assert.equal(texts.filter((text) => text.includes(`/${file}"`)).length, 1, file);
  assert.equal(groups.fileOf('test/harness.ts'), 'test/harness.ts');
  assert.deepEqual(groups.programs.filter(existsSync), []);
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

test('hooks of a preloaded module concern the tests of all files', async (context) => {
  const { groupProgram } = await script('groups');
  const folder = mkdtempSync(join(tmpdir(), 'polygate groups-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const write = (name: string, text: string) => {
    const path = join(folder, `${name}.ts`);
    writeFileSync(path, text);
    return path;
  };
  const preload = write(
    'hooks',
    `import { after, beforeEach } from 'node:test';
beforeEach(({ name }) => console.log('hook: ' + name));
after(() => console.log('hook: end'));`,
  );
  const files = ['one', 'two'].map((name) =>
    write(name, `import { test } from 'node:test';\ntest('${name}', () => console.log('hook: of ${name}'));`),
  );
  writeFileSync(join(folder, 'group.mjs'), groupProgram(files, { preload }));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const output = execFileSync(process.execPath, [join(folder, 'group.mjs')], { encoding: 'utf8', env });
  const lines = output.split('\n').filter((line) => line.startsWith('hook: '));
  assert.deepEqual(
    lines,
    ['one', 'of one', 'two', 'of two', 'end'].map((text) => `hook: ${text}`),
  );
});

const OPEN = `import { createServer } from 'node:net';
import { after, test } from 'node:test';
createServer().listen(0);`;
const TESTS = `test('passes', () => {});
test('fails', () => { throw new Error('as it should'); });`;

for (const kind of ['group', 'file that runs alone']) {
  for (const [what, text] of [
    ['something is left open', `${OPEN}\n${TESTS}`],
    ['a hook hangs', `${OPEN}\nafter(() => new Promise(() => {}));\n${TESTS}`],
  ] as const) {
    test(`a ${kind} ends where ${what}, and its failures are told`, async (context) => {
      const { groupProgram, fileProgram } = await script('groups');
      const folder = mkdtempSync(join(tmpdir(), 'polygate groups-'));
      context.after(() => rmSync(folder, { recursive: true }));
      const file = join(folder, 'open.ts');
      writeFileSync(file, text);
      const program = join(folder, 'program.mjs');
      writeFileSync(
        program,
        kind === 'group' ? groupProgram([file], { endMs: 100 }) : fileProgram(file, { endMs: 100 }),
      );
      const { NODE_TEST_CONTEXT: _, ...env } = process.env;
      const options = { encoding: 'utf8', env, timeout: 30_000 } as const;
      const { status, signal, stdout } = spawnSync(
        process.execPath,
        ['--test', '--test-reporter=spec', program],
        options,
      );
      assert.deepEqual([status, signal], [1, null], stdout);
      assert.match(stdout, /✔ passes[\s\S]*✖ fails/);
    });
  }
}
