/**
 * `protects.json` says which cases guard against each trap of docs/conformance.md. An entry is a golden case, or
 * `<file under test>: <words of a test>`.
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tableRows } from '../docs/markdown.ts';

const tests = join(import.meta.dirname, '..');
const protects: Record<string, string[]> = JSON.parse(readFileSync(join(import.meta.dirname, 'protects.json'), 'utf8'));

/** How many traps there are of each kind. */
const COUNTS = { failure: 18, 'chat-messages': 13, 'chat-generate': 11, 'messages-generate': 7 };
const EXPECTED = Object.entries(COUNTS).flatMap(([kind, count]) =>
  Array.from({ length: count }, (_, index) => `${kind} ${index + 1}: `),
);

test('every trap is listed once', () => {
  const keys = Object.keys(protects);
  const found = EXPECTED.map((start) => keys.filter((key) => key.startsWith(start)).length);
  assert.deepEqual(
    found,
    EXPECTED.map(() => 1),
  );
  assert.equal(keys.length, EXPECTED.length);
});

test('docs/conformance.md lists the same traps', () => {
  const listed = tableRows('docs/conformance.md').flatMap(([name = '', text]) =>
    name.startsWith('`') ? [`${name.replaceAll('`', '')}: ${text}`] : [],
  );
  assert.deepEqual(listed, Object.keys(protects));
});

for (const [trap, cases] of Object.entries(protects)) {
  test(`${trap}: its cases exist`, () => {
    assert.ok(cases.length > 0, 'no case');
    assert.deepEqual(
      cases.filter((name) => !exists(name)),
      [],
    );
  });
}

function exists(name: string): boolean {
  const [file = '', ...words] = name.split(': ');
  if (words.length > 0) {
    const path = join(tests, file);
    return existsSync(path) && readFileSync(path, 'utf8').includes(words.join(': '));
  }
  return ['.json', '.sse'].some((extension) => existsSync(join(import.meta.dirname, name + extension)));
}
