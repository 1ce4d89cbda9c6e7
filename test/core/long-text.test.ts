/** Long texts of bodies: read, changed, copied and written as any other, and not decoded before that. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { copyJson } from '../../src/core/json/copy.ts';
import type { Json } from '../../src/core/json/json.ts';
import { LongText, longTextAt, withStandIns } from '../../src/core/json/long-text.ts';
import { readInSlices, writeInSlices } from '../../src/core/json/slices.ts';

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
    const body = await deferred(JSON.stringify({ set: text, deleted: text, added: text }));
    body.set = 'other';
    delete body.deleted;
    delete body.added;
    body.added = 'again';
    assert.ok(!['set', 'deleted', 'added'].some((name) => isDeferred(body, name)));
    assert.deepEqual(copyJson(body), { set: 'other', added: 'again' });
    assert.deepEqual(body, { set: 'other', added: 'again' });
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
    const values = { first: { text }, list: ['a', 'b'.repeat(LONG)], last: text, more: '"\\' };
    const body = await deferred(JSON.stringify(values));
    assert.equal((await writeInSlices(body)).toString(), JSON.stringify(values));
    assert.ok(isDeferred(body, 'last') && isDeferred(body.first, 'text'));
  });

  test('may have any name', async () => {
    for (const name of ['__proto__', 'constructor', 'toString', '', '0']) {
      const json = `{"${name}":"${text}"}`;
      const body = await deferred(json);
      assert.ok(isDeferred(body, name), name);
      assert.deepEqual(body, JSON.parse(json));
      assert.equal(Object.getPrototypeOf(body), Object.prototype);
    }
  });
});

test('texts with escapes, of arrays, of data URLs that are not base64, and short ones are decoded at once', async () => {
  const json = JSON.stringify({
    short: 'a'.repeat(LONG - 1),
    escaped: `${text}\n`,
    list: [text],
    encoded: `data:,${'%41'.repeat(LONG / 3)}`,
    image: `data:image/png;base64,${'AAAA'.repeat(LONG / 4)}`,
  });
  const body = await deferred(json);
  const names = Object.keys(body).filter((name) => isDeferred(body, name));
  assert.deepEqual(names, ['image']);
  assert.deepEqual(body, JSON.parse(json));
});

test('eight megabytes of a body at most wait for their readers', async () => {
  const body = await deferred(
    JSON.stringify(Object.fromEntries('abcde'.split('').map((name) => [name, 'x'.repeat(2 ** 21)]))),
  );
  assert.deepEqual(
    'abcde'.split('').filter((name) => isDeferred(body, name)),
    ['a', 'b', 'c', 'd'],
  );
});

test('a control character in a text that waits is refused', async () => {
  for (const at of [0, LONG - 1, 2 ** 20 + 1]) {
    const bytes = Buffer.from(JSON.stringify({ a: 'x'.repeat(2 ** 20 + LONG) }));
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
      fc.dictionary(fc.constantFrom('a', 'b', 'content'), tie('value'), { maxKeys: 3 }),
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
    const read = withStandIns(
      ({ start }) => start.slice(0, 2),
      () => [body.text, body.inner.text],
    );
    assert.deepEqual(read, ['éé', 'xx']);
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
});

test('the start of a text has more characters than a length is limited to', () => {
  for (const character of ['a', 'é', '🦊']) {
    const bytes = Buffer.from(character.repeat(LONG));
    assert.ok([...new LongText(bytes).start].length > 65_536, character);
  }
});

/** The last test: the names are kept. */
test('a text is decoded at once if a hundred others had other names', async () => {
  for (let index = 0; index < 120; index++) new LongText(Buffer.from('a')).addTo({}, `name ${index}`);
  const body = await deferred(JSON.stringify({ 'one more': text }));
  assert.deepEqual(Object.getOwnPropertyDescriptor(body, 'one more')?.value, text);
});
