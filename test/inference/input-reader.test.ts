/** Free text inside of JSON arguments, as its fragments come. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createAnswerReader, createInputReader } from '../../src/inference/response/input-reader.ts';

function readIn(pieces: string[]): string[] {
  const reader = createInputReader();
  return [...pieces.map((piece) => reader.push(piece)), reader.end()];
}

const HARD = 'a "b" \\ \n\t/ \u0001 grüß 🦊 \u2028 end';

test('a text arrives whole, cut at any place, escapes included', () => {
  for (const written of [JSON.stringify({ input: HARD }), ` { "input" :\n${JSON.stringify(HARD)} }`, escapedOf(HARD)]) {
    for (let cut = 0; cut <= written.length; cut++)
      assert.equal(readIn([written.slice(0, cut), written.slice(cut)]).join(''), HARD, `${cut} of ${written}`);
    assert.equal(readIn(written.split('')).join(''), HARD);
  }
});

/** Every character as an escape. */
function escapedOf(text: string): string {
  const escapes = text.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `{"input":"${escapes.join('')}"}`;
}

test('any text in any pieces; no piece ends amid a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.nat()), (text, positions) => {
      const written = JSON.stringify({ input: text });
      const cuts = positions.map((position) => position % (written.length + 1)).sort((one, other) => one - other);
      const pieces = [...cuts, written.length].map((cut, index) =>
        written.slice(index === 0 ? 0 : cuts[index - 1], cut),
      );
      const read = readIn(pieces);
      assert.equal(read.join(''), text);
      for (const piece of read.slice(0, -1)) assert.doesNotMatch(piece, /[\ud800-\udbff]$/);
    }),
  );
});

test('text comes before its end does', () => {
  const reader = createInputReader();
  assert.deepEqual(['{"inp', 'ut":"on', 'e tw'].map(reader.push), ['', 'on', 'e tw']);
});

test('arguments of another form are the text themselves, and none are no text', () => {
  assert.equal(readIn(['{"code":', '"x"}']).join(''), '{"code":"x"}');
  assert.equal(readIn(['plain ', 'text']).join(''), 'plain text');
  assert.equal(readIn(['{}']).join(''), '');
  assert.equal(readIn([]).join(''), '');
});

test('a JSON value inside of an object arrives as it was written, in any pieces', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom('', ' ', '\n  '), fc.array(fc.nat()), (value, space, positions) => {
      const text = JSON.stringify(value, undefined, space);
      const written = `${space}{${space}"answer"${space}:${text}${space}}${space}`;
      const cuts = positions.map((position) => position % (written.length + 1)).sort((one, other) => one - other);
      const reader = createAnswerReader();
      const pieces = [...cuts, written.length].map((cut, index) =>
        reader.push(written.slice(index === 0 ? 0 : cuts[index - 1], cut)),
      );
      assert.equal([...pieces, reader.end()].join(''), text);
    }),
  );
});

test('an answer that ends early, or has another form, keeps all of its text', () => {
  for (const [written, text] of [
    ['{"answer":[{"a":1}', '[{"a":1}'],
    ['{"answer":[1,2', '[1,2'],
    ['{"ans', '{"ans'],
    ['[1]', '[1]'],
    ['{"a":1}', '{"a":1}'],
    [`{"answer":"x"${' '.repeat(5000)}`, `"x"${' '.repeat(5000)}`],
  ] as const) {
    for (const pieces of [[written], written.split('')]) {
      const reader = createAnswerReader();
      const read = pieces.map((piece) => reader.push(piece));
      assert.equal([...read, reader.end()].join(''), text);
    }
  }
});
