/** Every line of the conformance checklist is named by a test, or listed with a reason why not. */

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LATER } from './later.ts';

const LINES = 89;
const FOLDER = join(import.meta.dirname, '..');
/** In a name: `checklist 7`, `checklist 23-26, 31`. */
const MENTION = /^.*['"`].*checklist (\d+(?:(?:-|, )\d+)*)/gm;

function linesIn(text: string): number[] {
  return [...text.matchAll(MENTION)].flatMap(([, list = '']) =>
    list.split(', ').flatMap((range) => {
      const [from = 0, to = from] = range.split('-').map(Number);
      return Array.from({ length: to - from + 1 }, (_, index) => from + index);
    }),
  );
}

const files = globSync('**/*.test.ts', { cwd: FOLDER, exclude: ['**/node_modules', '**/coverage.test.ts'] });
const named = new Set(files.flatMap((file) => linesIn(readFileSync(join(FOLDER, file), 'utf8'))));

test('every line of the checklist is named or listed', () => {
  const listed = new Set(LATER.map(({ line }) => line));
  const missing = Array.from({ length: LINES }, (_, index) => index + 1).filter(
    (line) => !named.has(line) && !listed.has(line),
  );
  assert.deepEqual(missing, []);
});

test('no test names a line that does not exist', () => {
  assert.deepEqual(
    [...named].filter((line) => line < 1 || line > LINES),
    [],
  );
});

test('what is open altogether has no test, and what is open in part has one', () => {
  for (const { line, part } of LATER) assert.equal(named.has(line), part !== 'all', `line ${line}`);
});
