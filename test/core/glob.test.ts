import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { matchesGlob } from '../../src/core/glob.ts';

test('a star stands for any characters, everything else for itself', () => {
  const piece = fc.string({ unit: fc.constantFrom('a', 'b', '*', '/', '.', '?') });
  fc.assert(
    fc.property(piece, fc.string({ unit: fc.constantFrom('a', 'b', '/', '.', '?') }), (glob, text) => {
      const expression = glob
        .split('*')
        .map((literal) => literal.replace(/[.?/]/g, '\\$&'))
        .join('.*');
      assert.equal(matchesGlob(glob, text), new RegExp(`^${expression}$`).test(text));
    }),
    { numRuns: 2000 },
  );
});

test('a bad pattern and a long name take no time', () => {
  const start = performance.now();
  assert.ok(!matchesGlob(`${'*a'.repeat(50)}b`, 'a'.repeat(1_000_000)));
  assert.ok(performance.now() - start < 5_000);
});
