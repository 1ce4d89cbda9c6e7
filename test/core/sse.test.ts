import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createFramer, parseEvents, parseFrame } from '../../src/core/sse.ts';

/** In the memory of one read, which the next one overwrites. */
function frame(bytes: Buffer, cuts: number[]): Buffer[] {
  const framer = createFramer();
  const frames: Buffer[] = [];
  const read = Buffer.alloc(bytes.length);
  let start = 0;
  for (const cut of [...cuts, bytes.length]) {
    const chunk = read.subarray(0, bytes.copy(read, 0, start, cut));
    frames.push(...framer.push(chunk).map((lent) => Buffer.from(lent)));
    read.fill(0);
    start = cut;
  }
  return [...frames, ...framer.end()];
}

const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
const line = fc.oneof(
  fc.string({ unit: 'grapheme' }).map((text) => `data: ${text.replace(/[\r\n]/g, ' ')}`),
  fc.constant(': comment'),
  fc.constant('event: name'),
  fc.constant('data:{"emoji":"🦊é中"}'),
);
const stream = fc
  .tuple(lineEnd, fc.array(fc.array(line, { minLength: 1, maxLength: 3 }), { maxLength: 6 }))
  .map(([end, events]) => Buffer.from(events.map((lines) => lines.map((text) => text + end).join('') + end).join('')));

test('checklist 77, 78: frames are the same however the bytes are cut, in every line form', () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat()), (bytes, positions) => {
      const cuts = positions.map((position) => position % (bytes.length + 1)).sort((one, other) => one - other);
      const whole = parseEvents(bytes);
      const cut = frame(bytes, cuts)
        .map(parseFrame)
        .filter((event) => event !== undefined);
      assert.deepEqual(cut, whole);
    }),
  );
});

test('joined frames are the received bytes', () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat()), (bytes, positions) => {
      const cuts = positions.map((position) => position % (bytes.length + 1)).sort((one, other) => one - other);
      assert.ok(Buffer.concat(frame(bytes, cuts)).equals(bytes));
    }),
  );
});

test('single-byte chunks yield the same events, inside a character and between CR and LF too', () => {
  const bytes = Buffer.from('event: a\r\ndata: {"text":"🦊 中文"}\r\n\r\ndata: one\r\ndata: two\r\n\r\n');
  const singles = Array.from({ length: bytes.length }, (_, index) => index);
  assert.deepEqual(frame(bytes, singles).map(parseFrame).filter(Boolean), [
    { event: 'a', data: '{"text":"🦊 中文"}' },
    { event: undefined, data: 'one\ntwo' },
  ]);
});

test('a byte order mark, a missing space and a missing last blank line are accepted', () => {
  assert.deepEqual(parseEvents(Buffer.from('\ufeffdata:one\n\ndata: two')), [
    { event: undefined, data: 'one' },
    { event: undefined, data: 'two' },
  ]);
});

test('a frame with only comments has no event', () => {
  assert.deepEqual(parseEvents(Buffer.from(': keep-alive\n\n: another\n\n')), []);
});

test('a frame in many chunks takes linear time', () => {
  const framer = createFramer();
  const piece = Buffer.alloc(1000, 'x');
  framer.push(Buffer.from('data: '));
  for (let count = 0; count < 20_000; count++) assert.equal(framer.push(piece).length, 0);
  const [last] = framer.push(Buffer.from('\n\n'));
  assert.equal(last?.length, 20_000_008);
});
