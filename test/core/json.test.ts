import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { GatewayError } from '../../src/core/errors.ts';
import { readBody } from '../../src/core/json/body.ts';
import { hasControlByte } from '../../src/core/json/control-bytes.ts';
import { copyJson } from '../../src/core/json/copy.ts';
import { parseObject, read, spanAt, spans, splice } from '../../src/core/json/json.ts';
import { guard } from '../../src/core/json/scan.ts';
import { readInSlices } from '../../src/core/json/slices.ts';
import { needsSlices, writeInSlices } from '../../src/core/json/write-slices.ts';
import { outline } from '../../src/core/outline.ts';

async function refusal(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, 'invalid_request');
    return error.message;
  }
  return assert.fail('it was accepted');
}

test('a body that is not JSON, not UTF-8, not an object, or empty is refused with a message', async () => {
  assert.match(await refusal(() => readBody(Buffer.from('{"a":1'))), /not valid JSON/);
  assert.match(await refusal(() => readBody(Buffer.from(`{"text":"${'x'.repeat(100)}","a":}`))), /not valid JSON/);
  assert.match(await refusal(() => readBody(Buffer.from([0x7b, 0xff, 0x7d]))), /UTF-8/);
  assert.match(await refusal(() => readBody(Buffer.from('[1]'))), /must be a JSON object/);
  assert.match(await refusal(() => readBody(Buffer.alloc(0))), /empty/);
});

test('depth and number of values are limited before parsing', async () => {
  assert.match(await refusal(() => readBody(Buffer.from('['.repeat(5_000_000)))), /nests deeper than 100/);
  assert.match(
    await refusal(() => readBody(Buffer.from(`{"a":[${'1,'.repeat(200_000)}1]}`))),
    /more than 100000 values/,
  );
  guard(Buffer.from(JSON.stringify({ text: '[[[['.repeat(1000) })));
});

test('parsing in slices equals synchronous parsing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), fc.nat(2), async (value, indent) => {
      const text = JSON.stringify({ value }, null, indent);
      assert.deepEqual(await readInSlices(Buffer.from(text)), JSON.parse(text));
    }),
  );
});

test('parsing in slices refuses the same texts as synchronous parsing', async () => {
  const text = JSON.stringify({ a: [1, -2.5e3, true, null, 'x\n"é🦊'], b: { c: {}, d: [] } });
  await fc.assert(
    fc.asyncProperty(
      fc.nat(text.length - 1),
      fc.constantFrom('', ',', '"', '}', ']', '1', 'x', '\\', '\n'),
      async (at, other) => {
        const bytes = Buffer.from(text.slice(0, at) + other + text.slice(at + 1));
        let expected: unknown;
        try {
          expected = JSON.parse(bytes.toString());
        } catch {
          await assert.rejects(readInSlices(bytes), SyntaxError);
          return;
        }
        assert.deepEqual(await readInSlices(bytes), expected);
      },
    ),
    { numRuns: 500 },
  );
});

test('a long text is cut neither inside an escape nor inside a character', async () => {
  for (const unit of ['\\"', '中文🦊', '\u0001', 'a']) {
    const value = { text: unit.repeat(900_000), ['__proto__']: 1 };
    assert.deepEqual(await readInSlices(Buffer.from(JSON.stringify(value))), JSON.parse(JSON.stringify(value)));
  }
});

test('a control character anywhere in a long text is refused, and nothing else', async () => {
  const text = Buffer.from(`"${'aé🦊 ~\x7f'.repeat(9000)}"`);
  assert.equal(await readInSlices(text), JSON.parse(text.toString()));
  const plain = Buffer.from(`"${'x'.repeat(2_200_000)}"`);
  const places = [1, 2, 3, 4, 5, 1_048_576, 1_048_577, 1_048_578, plain.length - 4, plain.length - 3, plain.length - 2];
  for (const place of places) {
    for (const byte of [0, 9, 10, 31, 32, 127]) {
      const changed = Buffer.from(plain);
      changed[place] = byte;
      if (byte < 32) await assert.rejects(readInSlices(changed), SyntaxError);
      else assert.equal(await readInSlices(changed), JSON.parse(changed.toString()));
    }
  }
});

test('control characters are found whatever stands beside them, and wherever the bytes begin', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 120 }), fc.nat(3), fc.boolean(), (given, offset, isPlain) => {
      const bytes = Buffer.from(new Uint8Array(offset + given.length).buffer, offset);
      bytes.set(isPlain ? given.map((byte) => Math.max(byte, 32)) : given);
      assert.equal(
        hasControlByte(bytes),
        bytes.some((byte) => byte < 32),
      );
    }),
    { numRuns: 2000 },
  );
});

test('numbers that a double cannot hold keep their digits', () => {
  const text =
    '{"id":12345678901234567890,"fine":1.5,"deep":[9007199254740993,0.1234567890123456789],"exponent":1e400}';
  assert.equal(JSON.stringify(read(text)), text);
});

const LONG = ['12345678901234567890', '-9007199254740993', '0.1234567890123456789', '1e400', '-1E+400', '1.5e999'];
const numbers = fc.constantFrom(...LONG, '0', '-7', '1.5', '1234567890');
const separators = fc.constantFrom('', ' ', '\t', '\n', '\r\n');
/** JSON text with white space, and the same text without. */
const { value: texts } = fc.letrec<{ value: [string, string] }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    numbers.map((text): [string, string] => [text, text]),
    fc.constantFrom(...LONG, 'in 2e5 of 1234567890123456789 words').map((words): [string, string] => {
      const text = JSON.stringify(words);
      return [text, text];
    }),
    fc
      .tuple(separators, fc.array(tie('value')))
      .map(([space, items]): [string, string] => [
        `[${space}${items.map(([text]) => text + space).join(`,${space}`)}]`,
        `[${items.map(([, text]) => text).join(',')}]`,
      ]),
    fc
      .tuple(separators, fc.array(tie('value')))
      .map(([space, items]): [string, string] => [
        `{${space}${items.map(([text], index) => `"m${index}"${space}:${space}${text}`).join(`${space},${space}`)}}`,
        `{${items.map(([, text], index) => `"m${index}":${text}`).join(',')}}`,
      ]),
  ),
}));

test('numbers keep their digits wherever they stand', () => {
  fc.assert(
    fc.property(separators, texts, (space, [spaced, plain]) => {
      assert.equal(JSON.stringify(read(space + spaced)), plain);
    }),
    { numRuns: 2000 },
  );
});

test('ordinary numbers stay numbers', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      const value = read(`{"value":${JSON.stringify(number)}}`).value;
      assert.equal(value, JSON.parse(JSON.stringify(number)));
    }),
  );
});

test('replacing the span of a member changes that member and nothing else', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), fc.nat(3), (members, name, indent) => {
      const object = JSON.parse(JSON.stringify({ before: 1, ...members, [name]: 'old', after: { [name]: 2 } }));
      const bytes = Buffer.from(JSON.stringify(object, null, indent));
      const span = spans(bytes, [name]).get(name);
      assert.ok(span);
      const changed = JSON.parse(splice(bytes, span, '"new"').toString());
      assert.deepEqual(changed, { ...object, [name]: 'new' });
    }),
  );
});

test('a path leads through objects only', () => {
  const bytes = Buffer.from('{"a":[{"model":"no"}],"message": {"text":"\\"model\\":\\"no\\"","model" : "yes"}}');
  const span = spanAt(bytes, ['message', 'model']);
  assert.equal(span && bytes.toString('utf8', span.start, span.end), '"yes"');
  assert.equal(spanAt(bytes, ['a', 'model']), undefined);
  assert.equal(spanAt(bytes, ['missing']), undefined);
});

test('arguments that are not an object are undefined', () => {
  assert.deepEqual(parseObject(''), {});
  assert.deepEqual(parseObject('{"a":1}'), { a: 1 });
  assert.equal(parseObject('[1]'), undefined);
  assert.equal(parseObject('{"a":'), undefined);
});

test('a copy is equal, long numbers included, and shares nothing that can change', () => {
  const value = read('{"a":[{"b":12345678901234567890}],"c":{"d":null}}');
  const copy = copyJson(value);
  assert.equal(JSON.stringify(copy), JSON.stringify(value));
  copy.a[0].b = 1;
  copy.c.d = 1;
  assert.equal(JSON.stringify(value), '{"a":[{"b":12345678901234567890}],"c":{"d":null}}');
});

test('writing in slices equals synchronous writing', async () => {
  const texts = ['"\\\n\u0001é', '中文🦊', 'x🦊', '\ud800'].map((unit) => unit.repeat(300_000));
  const value = read(
    JSON.stringify({ texts, small: ['a', null, 1.5], long: 0 }).replace('"long":0', '"long":12345678901234567890'),
  );
  assert.ok((await writeInSlices(value)).equals(Buffer.from(JSON.stringify(value))));
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (json) => {
      assert.equal((await writeInSlices({ json })).toString(), JSON.stringify({ json }));
    }),
  );
});

test('lists and objects with many members are written in slices, wherever they are', async () => {
  const filler = fc.constantFrom(
    'x'.repeat(300_000),
    Array(30_000).fill({ a: 1 }),
    Array(2000).fill('é"'.repeat(100)),
    [...[undefined, null, 'y'.repeat(400_000)]],
  );
  const { value: json } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.jsonValue(),
      filler,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.string(), fc.option(tie('value'), { nil: undefined }), { maxKeys: 3 }),
    ),
  }));
  await fc.assert(
    fc.asyncProperty(json, filler, json, async (...parts) => {
      assert.ok(needsSlices(parts));
      assert.equal((await writeInSlices(parts)).toString(), JSON.stringify(parts));
    }),
    { numRuns: 30 },
  );
  const many = Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`n${index}`, index]));
  assert.ok(needsSlices(many) && !needsSlices({ a: Array(1000).fill(1) }));
  assert.equal((await writeInSlices({ many })).toString(), JSON.stringify({ many }));
});

test('an outline distinguishes values without their long texts', () => {
  const image = (letter: string, length: number) => ({ role: 'user', data: letter.repeat(length) });
  assert.ok(outline(image('a', 5_000_000)).length < 1100);
  assert.equal(outline(image('a', 5000)), outline(image('a', 5000)));
  assert.notEqual(outline(image('a', 5000)), outline(image('b', 5000)));
  assert.notEqual(outline(image('a', 5000)), outline(image('a', 5001)));
});
