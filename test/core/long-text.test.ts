/** Long texts of bodies: read, changed, copied and written as any other, and not decoded before that. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { copyJson } from '../../src/core/json/copy.ts';
import type { Json } from '../../src/core/json/json.ts';
import { ANY_LONG_TEXT, longTextAt, withStandIns } from '../../src/core/json/long-text.ts';
import { readInSlices } from '../../src/core/json/slices.ts';
import { writeInSlices } from '../../src/core/json/write-slices.ts';
import { MAX_ID_CHARACTERS } from '../../src/core/lengths.ts';

/** Bytes from which a text waits for its reader. */
const LONG = 4 * 65_537;
const text = 'é'.repeat(LONG / 2);

const deferred = (json: string): Promise<Json> => readInSlices(Buffer.from(json), { defersTexts: true });
const isDeferred = (object: object, name: string) => longTextAt(object, name) !== undefined;

describe('a long text of a body', () => {
  test('is decoded by its first reader', async () => {
    const body = await deferred(JSON.stringify({ before: 1, text, after: [2] }));
    assert.ok(isDeferred(body, 'text'));
    assert.deepEqual(Object.keys(body), ['before', 'text', 'after']);
    assert.equal(body.text, text);
    assert.ok(!isDeferred(body, 'text'));
    assert.deepEqual(Object.getOwnPropertyDescriptor(body, 'text'), {
      ...{ value: text, writable: true, enumerable: true, configurable: true },
    });
    assert.deepEqual(body, { before: 1, text, after: [2] });
  });

  test('can be set and deleted', async () => {
    const body = await deferred(JSON.stringify({ content: text, text, input: text }));
    assert.ok(['content', 'text', 'input'].every((name) => isDeferred(body, name)));
    body.content = 'other';
    delete body.text;
    delete body.input;
    body.input = 'again';
    assert.ok(!['content', 'text', 'input'].some((name) => isDeferred(body, name)));
    assert.deepEqual(copyJson(body), { content: 'other', input: 'again' });
    assert.deepEqual(body, { content: 'other', input: 'again' });
  });

  test('is one for all copies of its object, each of which can be changed', async () => {
    const body = await deferred(JSON.stringify({ inner: [{ text }] }));
    const copy = copyJson(body);
    const changed = copyJson(copy);
    changed.inner[0].text = 'other';
    assert.ok(isDeferred(body.inner[0], 'text') && isDeferred(copy.inner[0], 'text'));
    assert.equal(longTextAt(body.inner[0], 'text'), longTextAt(copy.inner[0], 'text'));
    assert.deepEqual(
      [body, copy, changed],
      [...[{ inner: [{ text }] }, { inner: [{ text }] }, { inner: [{ text: 'other' }] }]],
    );
  });

  test('is written without being decoded', async () => {
    const values = { first: { text }, list: ['a', 'b'.repeat(LONG)], content: 'c'.repeat(LONG), more: '"\\' };
    const body = await deferred(JSON.stringify(values));
    assert.equal((await writeInSlices(body)).toString(), JSON.stringify(values));
    assert.ok(isDeferred(body, 'content') && isDeferred(body.first, 'text'));
  });

  test('is not kept by its object once it was read or set', async () => {
    const body = await deferred(JSON.stringify({ text, input: text }));
    const [hidden] = Object.getOwnPropertySymbols(body);
    assert.ok(hidden);
    assert.equal(body[hidden].size, 2);
    assert.equal(body.text, text);
    body.input = '';
    assert.equal(body[hidden].size, 0);
  });
});

test('texts with other names, with escapes, of arrays, and short ones are decoded at once', async () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'toJSON', 'then', 'url', '', '0', 'x'.repeat(LONG)]) {
    const json = `{"a":{"${name}":"${text}","content":"${'x'.repeat(LONG)}"},"list":["${text}"],"b":1}`;
    const body = await deferred(json);
    assert.ok(!isDeferred(body.a, name) && isDeferred(body.a, 'content'), name);
    assert.equal((await writeInSlices(body)).toString(), json);
    assert.deepEqual(body, JSON.parse(json));
  }
  const body = await deferred(JSON.stringify({ text: 'a'.repeat(LONG - 1), input: `${text}\n`, content: text }));
  assert.deepEqual(
    Object.keys(body).filter((name) => isDeferred(body, name)),
    ['content'],
  );
});

test('an object with a method of JSON is written as it is', async () => {
  const body = await deferred(JSON.stringify({ first: { text, toJSON: 'x'.repeat(LONG) }, content: 'y'.repeat(LONG) }));
  assert.equal((await writeInSlices(body)).toString(), JSON.stringify(body));
});

test('six megabytes of a body at most wait for their readers', async () => {
  const messages = Array.from({ length: 4 }, () => ({ content: 'x'.repeat(2 ** 21) }));
  const body = await deferred(JSON.stringify(messages));
  assert.deepEqual(
    body.map((message: object) => isDeferred(message, 'content')),
    [true, true, true, false],
  );
});

test('a control character in a text that waits is refused', async () => {
  for (const at of [0, LONG - 1, 2 ** 20 + 1]) {
    const bytes = Buffer.from(JSON.stringify({ text: 'x'.repeat(2 ** 20 + LONG) }));
    bytes[bytes.indexOf('x') + at] = 10;
    await assert.rejects(readInSlices(bytes, { defersTexts: true }), SyntaxError);
  }
});

test('any body is the same, whether its texts wait or not', async () => {
  const inner = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(text, 'x'.repeat(LONG), `${text}"`, 'short', 1, null, true),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'text', 'content', 'toJSON'), tie('value'), { maxKeys: 3 }),
    ),
  })).value;
  await fc.assert(
    fc.asyncProperty(inner, async (value) => {
      const json = JSON.stringify(value);
      const body = await deferred(json);
      const copy = copyJson(body);
      assert.equal((await writeInSlices(copy)).toString(), json);
      assert.deepEqual(body, JSON.parse(json));
      assert.deepEqual(copy, JSON.parse(json));
    }),
    { numRuns: 100 },
  );
});

describe('a stand-in', () => {
  test('is read in place of all long texts, which stay as they are', async () => {
    const body = await deferred(JSON.stringify({ text, inner: { text: 'x'.repeat(LONG) } }));
    let read = 0;
    const standIns = withStandIns(
      () => `text ${++read}`,
      () => [body.text, body.inner.text],
    );
    assert.deepEqual(standIns, ['text 1', 'text 2']);
    assert.ok(isDeferred(body, 'text'));
    assert.equal(body.text, text);
  });

  test('has ended when its step throws', async () => {
    const body = await deferred(JSON.stringify({ text }));
    const fail = () => {
      throw new Error('failed');
    };
    assert.throws(() => withStandIns(() => 'other', fail), /failed/);
    assert.equal(body.text, text);
  });

  test('for checks is longer than any length is limited to', () => {
    assert.ok(ANY_LONG_TEXT.length > MAX_ID_CHARACTERS);
  });
});

test('a character is not split where a text is decoded in pieces', async () => {
  for (const character of ['é', '€', '🦊']) {
    const body = await deferred(JSON.stringify({ text: `a${character.repeat(2 ** 19)}` }));
    assert.ok(isDeferred(body, 'text'));
    assert.equal(body.text, `a${character.repeat(2 ** 19)}`);
  }
});
