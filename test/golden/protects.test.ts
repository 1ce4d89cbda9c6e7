/**
 * `protects.json` says which cases stand for what users of gateways complained about (3.1, 18 kinds) and for the traps between
 * two protocols (4.10; A is chat, B messages, C generate). An entry is a golden case, or `<file under test>: <words of a test>`.
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const tests = join(import.meta.dirname, '..');
const protects: Record<string, string[]> = JSON.parse(readFileSync(join(import.meta.dirname, 'protects.json'), 'utf8'));

const EXPECTED = [
  ...Array.from({ length: 18 }, (_, index) => `3.1 #${index + 1} `),
  ...Object.entries({ 'A<->B': 13, 'A<->C': 11, 'B<->C': 7 }).flatMap(([pair, count]) =>
    Array.from({ length: count }, (_, index) => `4.10 ${pair} (${index + 1}) `),
  ),
];

test('every complaint and every trap is there once', () => {
  const keys = Object.keys(protects);
  const found = EXPECTED.map((start) => keys.filter((key) => key.startsWith(start)).length);
  assert.deepEqual(
    found,
    EXPECTED.map(() => 1),
  );
  assert.equal(keys.length, EXPECTED.length);
});

for (const [what, cases] of Object.entries(protects)) {
  test(`${what}: its cases exist`, () => {
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
