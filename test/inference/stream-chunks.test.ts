/** Streams in chunks of any size: the same bytes come out, as few outputs, and no chunk is used after its turn. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import type { EncoderOptions } from '../../src/core/operation.ts';
import type { Protocol } from '../../src/core/protocol.ts';
import type { Output, StreamConverter } from '../../src/inference/response/converter.ts';
import { createRelay } from '../../src/inference/response/relay-stream.ts';
import { chat } from '../../src/protocols/chat/index.ts';
import { generate } from '../../src/protocols/generate/index.ts';
import { messages } from '../../src/protocols/messages/index.ts';
import { responses } from '../../src/protocols/responses/index.ts';
import { WIRES } from '../faults/wires.ts';

const options: EncoderOptions = { model: 'a/m', created: 1, includeUsage: true, array: false, hideReasoning: false };

const named = (index: number) =>
  `data: {"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"${index} é中🦊"},"finish_reason":null}]}\n\n`;
const unnamed = (index: number) =>
  `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${index}"}}\n\n`;

const streams = ([chat, messages, generate] as Protocol[]).map((protocol) => {
  const wire = WIRES[protocol.id as keyof typeof WIRES];
  const frames = Array.from({ length: 12 }, (_, index) => wire.text(`part ${index} é中🦊 `));
  return { protocol, bytes: Buffer.from(wire.head + frames.join(': comment\n\n') + wire.tail) };
});

function relayed(protocol: Protocol, chunks: readonly Buffer[]): string {
  const relay = createRelay(protocol, options);
  const out: Output[] = [];
  for (const chunk of chunks) relay.push(chunk, out);
  relay.end(out);
  return Buffer.concat([...out, ...relay.last()].map((output) => Buffer.from(output))).toString();
}

function cut(bytes: Buffer, positions: readonly number[]): Buffer[] {
  const cuts = positions.map((position) => position % (bytes.length + 1)).sort((one, other) => one - other);
  return [...cuts, bytes.length].map((end, index) => Buffer.from(bytes.subarray(cuts[index - 1] ?? 0, end)));
}

for (const { protocol, bytes } of streams) {
  test(`${protocol.id}: every chunking of a stream gives the same bytes`, () => {
    const whole = relayed(protocol, [bytes]);
    assert.ok(whole.includes('part 11'));
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 40 }), (positions) => {
        assert.equal(relayed(protocol, cut(bytes, positions)), whole);
      }),
    );
    const singles = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
    assert.equal(relayed(protocol, singles), whole);
  });
}

/** In memory of its own, as what is read from a socket. */
function chunkOf(text: string): Buffer {
  const chunk = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  chunk.write(text);
  return chunk;
}

function begun(protocol: Protocol, frame: string): StreamConverter {
  const relay = createRelay(protocol, options);
  relay.push(Buffer.from(frame), []);
  return relay;
}

const large = (index: number) => unnamed(index).replace('"text":"', `"text":"${'é and a word '.repeat(1000)}`);

for (const [form, protocol, frame] of [
  ['frames that stay as they are', messages, unnamed],
  ['renamed frames', chat, named],
  ['large frames', messages, large],
] as const) {
  test(`${form} of one chunk leave as few outputs, which are not in its memory`, () => {
    const relay = begun(protocol, frame(0));
    const text = Array.from({ length: 50 }, (_, index) => frame(index)).join('');
    const chunk = chunkOf(text);
    const out: Output[] = [];
    relay.push(chunk, out);
    // The next read overwrites it.
    chunk.fill(0);
    assert.equal(out.length, frame === large ? 50 : 1);
    assert.equal(out.join(''), text.replaceAll('"m"', '"a/m"'));
  });
}

test('what is read later of a frame is a copy: its finish, and the id in a preamble', () => {
  const relay = begun(chat, named(0));
  const last = chunkOf(
    `data: {"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"${'x'.repeat(5000)}"},"finish_reason":"length"}]}\n\n`,
  );
  relay.push(last, []);
  last.fill(0);
  assert.equal(relay.facts().finish, 'length');

  const other = createRelay(responses, options);
  const preamble = chunkOf(
    'event: response.created\ndata: {"type":"response.created","response":{"id":"resp_1","object":"response","model":"m","output":[]}}\n\n',
  );
  other.push(preamble, []);
  preamble.fill(0);
  assert.equal(other.firstId?.(), 'resp_1');
});

test('output of ASCII is text, and other output bytes', () => {
  const [plain, other] = [unnamed(1), named(1)].map((frame) => {
    const out: Output[] = [];
    begun(frame.startsWith('event') ? messages : chat, frame).push(Buffer.from(frame), out);
    return out[0];
  });
  assert.equal(typeof plain, 'string');
  assert.ok(Buffer.isBuffer(other));
});

test('an open stream keeps no chunk and no output, neither for its last frame nor for one that is incomplete', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (const [protocol, frame] of [
    [chat, named],
    [messages, unnamed],
  ] as const) {
    const relay = begun(protocol, frame(0));
    const dropped = ['', 'data: {"half'].flatMap((rest) => {
      const text = Array.from({ length: 400 }, (_, index) => frame(index)).join('') + rest;
      const chunk = chunkOf(text);
      const out: Output[] = [];
      relay.push(chunk, out);
      return [new WeakRef<object>(chunk.buffer), new WeakRef<object>(out)];
    });
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    assert.deepEqual(
      dropped.map((one) => one.deref()),
      [undefined, undefined, undefined, undefined],
      protocol.id,
    );
    assert.ok(relay.held() > 0);
  }
});
