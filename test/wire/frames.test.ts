/** Alignment of streams: every golden stream of every pair of protocols, and single ones by example. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { createFramer } from '../../src/core/sse.ts';
import { alignFrames, carriedBy, type FrameRow, readFrameText, type WireStream } from '../../ui/src/wire/frames.ts';

const golden = join(import.meta.dirname, '../golden/streams');
const KINDS = ['text', 'reasoning', 'tool'] as const;

/** All frames come at one time, as they do in a file. */
function streamOf(protocol: string, text: string): WireStream {
  const framer = createFramer();
  const frames = [...framer.push(Buffer.from(text)), ...framer.end()];
  return { protocol, frames: frames.map((frame) => ({ ms: 0, text: frame.toString() })) };
}

function textOf({ protocol, frames }: WireStream, indexes: readonly number[], kind: (typeof KINDS)[number]): string {
  return indexes.map((index) => carriedBy(protocol, frames[index]?.text ?? '')[kind] ?? '').join('');
}

function checkRows(rows: readonly FrameRow[], left: WireStream, right: WireStream): void {
  const indexes = (frames: readonly unknown[]) => [...frames.keys()];
  assert.deepEqual(
    rows.flatMap((row) => row.left),
    indexes(left.frames),
  );
  assert.deepEqual(
    rows.flatMap((row) => row.right),
    indexes(right.frames),
  );
  for (const row of rows) {
    assert.equal(row.mark === 'dropped', row.right.length === 0);
    assert.equal(row.mark === 'added', row.left.length === 0);
  }
}

for (const from of readdirSync(golden)) {
  test(`text of streams of ${from} stands beside itself`, () => {
    let count = 0;
    for (const file of readdirSync(join(golden, from))) {
      const [, name = '', to = ''] = /^(.+)\.to-(\w+)\.sse$/.exec(file) ?? [];
      if (name === '') continue;
      const read = (path: string) => readFileSync(join(golden, from, path), 'utf8');
      const [left, right] = [streamOf(from, read(`${name}.sse`)), streamOf(to, read(file))];
      const rows = alignFrames(left, right);
      checkRows(rows, left, right);
      for (const kind of KINDS) {
        const whole = (stream: WireStream) => textOf(stream, [...stream.frames.keys()], kind);
        if (whole(left) === '' || whole(left) !== whole(right)) continue;
        count += 1;
        let [one, other] = ['', ''];
        for (const row of rows) {
          one += textOf(left, row.left, kind);
          other += textOf(right, row.right, kind);
          assert.ok(one.startsWith(other) || other.startsWith(one), `${file}: ${one} and ${other}`);
        }
      }
    }
    assert.ok(count > 5, `${count}`);
  });

  test(`a relayed stream of ${from} is the same on both sides`, () => {
    for (const file of readdirSync(join(golden, from))) {
      const stream = streamOf(from, readFileSync(join(golden, from, file), 'utf8'));
      assert.ok(alignFrames(stream, stream).every(({ mark }) => mark === 'same'));
    }
  });
}

const event = (body: object) => `data: ${JSON.stringify(body)}\n\n`;
const chat = (content: string) => event({ choices: [{ delta: { content } }] });
const messages = (text: string) => event({ type: 'content_block_delta', delta: { type: 'text_delta', text } });

test('one frame stands beside the pieces that it became, and times place what carries nothing', () => {
  const left = { protocol: 'chat', frames: [chat('Hello'), chat(' you'), 'data: [DONE]\n\n'].map(at) };
  const right = {
    protocol: 'messages',
    frames: [event({ type: 'message_start' }), messages('Hel'), messages('lo'), messages(' you')].map(at),
  };
  assert.deepEqual(alignFrames(left, right), [
    { mark: 'added', left: [], right: [0] },
    { mark: 'reshaped', left: [0], right: [1, 2] },
    { mark: 'reshaped', left: [1], right: [3] },
    { mark: 'dropped', left: [2], right: [] },
  ]);
});

function at(text: string, index: number) {
  return { ms: index * 10, text };
}

test('any two streams are aligned in one pass', () => {
  const frame = fc.record({
    ms: fc.nat(1000),
    text: fc.oneof(fc.string(), fc.string().map(chat), fc.string().map(messages), fc.constant(': ping\n\n')),
  });
  const stream = fc.record({ protocol: fc.constantFrom('chat', 'messages', 'none'), frames: fc.array(frame) });
  fc.assert(fc.property(stream, stream, (left, right) => checkRows(alignFrames(left, right), left, right)));
});

test('a frame is read into its event and its data', () => {
  assert.deepEqual(readFrameText('event: ping\r\ndata: {"a":\r\ndata: 1}\r\n\r\n'), {
    event: 'ping',
    data: '{"a":\n1}',
  });
  assert.deepEqual(readFrameText(': comment\n\n'), { data: ': comment' });
});
