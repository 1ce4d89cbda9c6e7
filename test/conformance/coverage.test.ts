/** docs/conformance.md: every statement is named by the tests beside it, or is open with a reason. */

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tableRows } from '../docs/markdown.ts';

const STATEMENTS = 115;
const FOLDER = join(import.meta.dirname, '..');
/** In a name: `checklist 7`, `checklist 23-26, 31`. */
const MENTION = /^.*['"`].*checklist (\d+(?:(?:-|, )\d+)*)/gm;

interface Statement {
  line: number;
  /** Test files, relative to `test`. */
  tests: string[];
  isOpen: boolean;
}

const statements: Statement[] = tableRows('docs/conformance.md').flatMap(([line = '', text = '', tests = '']) => {
  if (!/^\d+$/.test(line)) return [];
  assert.notEqual(text, '');
  const named = [...tests.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file);
  return [{ line: Number(line), tests: named, isOpen: /^Open: .+/.test(tests) }];
});

function linesIn(text: string): number[] {
  return [...text.matchAll(MENTION)].flatMap(([, list = '']) =>
    list.split(', ').flatMap((range) => {
      const [from = 0, to = from] = range.split('-').map(Number);
      return Array.from({ length: to - from + 1 }, (_, index) => from + index);
    }),
  );
}

const files = globSync('**/*.test.ts', { cwd: FOLDER, exclude: ['**/node_modules', '**/coverage.test.ts'] });
const linesOf = new Map(files.map((file) => [file.replaceAll('\\', '/'), linesIn(textOf(file))]));
const named = new Set([...linesOf.values()].flat());

function textOf(file: string): string {
  return readFileSync(join(FOLDER, file), 'utf8');
}

test('statements are numbered without a gap', () => {
  assert.deepEqual(
    statements.map(({ line }) => line),
    Array.from({ length: STATEMENTS }, (_, index) => index + 1),
  );
});

test('every statement is named by each test beside it', () => {
  for (const { line, tests, isOpen } of statements) {
    assert.equal(tests.length > 0, !isOpen, `statement ${line} has tests or a reason why it is open`);
    for (const file of tests) assert.ok(linesOf.get(file)?.includes(line), `${file} names statement ${line}`);
  }
});

test('no test names a statement that does not exist or is open', () => {
  const known = new Set(statements.filter(({ isOpen }) => !isOpen).map(({ line }) => line));
  assert.deepEqual(
    [...named].filter((line) => !known.has(line)),
    [],
  );
});
