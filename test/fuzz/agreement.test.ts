/** Whole and streamed answers agree: what a client of any protocol gathers from a stream is the whole answer, however its bytes are cut. */

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import fc from 'fast-check';
import type { Json } from '../../src/core/json/json.ts';
import { protocols, upstreamProtocols } from '../../src/protocols/index.ts';
import { checkStream } from '../validators/index.ts';
import { BROKEN, CUT_CALL, type UpstreamAnswer } from './answers/drawing.ts';
import { answersOf } from './answers/index.ts';
import { deliver } from './delivery.ts';
import { gathered, said } from './gathered.ts';
import { piecesOf } from './properties.ts';

const CASES = 100;

/** The ways of the same bytes, and of the client that they are for. */
const wires = fc.record({
  cuts: fc.array(fc.nat(), { maxLength: 20 }),
  ends: fc.array(fc.constantFrom('\n', '\r\n', '\r'), { minLength: 1, maxLength: 3 }),
  /** With a byte order mark, comments and members of events that nobody reads. */
  noisy: fc.boolean(),
  /** Bytes in the place of a letter: none, or what no UTF-8 has. */
  broken: fc.constantFrom([], [], [0xff], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xc0, 0x80]),
  hideReasoning: fc.boolean(),
  array: fc.boolean(),
});

/** Frames with the line ends by turns. */
function bytesOf({ frames }: UpstreamAnswer, ends: readonly string[], noisy: boolean): Buffer {
  const text = frames.map(({ event, data }, at) => {
    const end = ends[at % ends.length] as string;
    const lines = [
      ...(noisy ? [': comment', 'retry: 5', `id: ${at}`] : []),
      ...(event === undefined ? [] : [`event: ${event}`]),
      `data: ${typeof data === 'string' ? data : JSON.stringify(data)}`,
    ];
    return `${lines.map((line) => line + end).join('')}${end}${noisy ? `: ping${end}${end}` : ''}`;
  });
  return Buffer.from(`${noisy ? '\ufeff' : ''}${text.join('')}`);
}

/** The bytes with others for the letter that stands for these. */
function brokenIn(bytes: Buffer, broken: readonly number[]): Buffer {
  if (broken.length === 0) return bytes;
  const text = bytes
    .toString('latin1')
    .replaceAll(Buffer.from(BROKEN).toString('latin1'), String.fromCharCode(...broken));
  return Buffer.from(text, 'latin1');
}

/** Whether the first candidate of an answer does not call the tool that the output limit cut. */
function tellsCut(protocol: string, answer: Json): boolean {
  switch (protocol) {
    case 'chat':
      return answer.choices[0].finish_reason === 'length';
    case 'messages':
      return answer.stop_reason === 'max_tokens';
    case 'generate':
      return answer.candidates[0].content.parts.every(({ functionCall }: Json) => functionCall?.name !== CUT_CALL);
    default:
      return answer.output.find(({ name }: Json) => name === CUT_CALL).status === 'incomplete';
  }
}

describe('a gathered stream is the whole answer', () => {
  before(() => Promise.all(upstreamProtocols.map((protocol) => protocol.load?.())));
  for (const upstream of upstreamProtocols)
    for (const client of protocols) {
      if (client.id === upstream.id) continue;
      test(`from ${upstream.id} to ${client.id}`, () => {
        fc.assert(
          fc.property(answersOf(upstream.id), wires, (answer, { cuts, ends, noisy, broken, hideReasoning, array }) => {
            const asked = { client, upstream, hideReasoning };
            const json = [brokenIn(Buffer.from(JSON.stringify(answer.whole)), broken)];
            const { text, error } = deliver({ ...asked, stream: false }, { chunks: json });
            const whole: Json = text !== undefined && !error ? said(client.id, JSON.parse(text)) : undefined;
            if (whole && answer.isCut) assert.ok(tellsCut(client.id, whole));
            const chunks = piecesOf(brokenIn(bytesOf(answer, ends, noisy), broken), cuts);
            for (const form of [
              { type: 'text/event-stream', chunks },
              { type: 'application/json', chunks: json },
            ]) {
              const isArray = client.id === 'generate' && array;
              const streamed = deliver({ ...asked, stream: true, array: isArray }, form);
              assert.equal(streamed.error?.message, error?.message);
              if (!whole) continue;
              const told = streamed.text ?? '';
              const data: Json[] = isArray ? JSON.parse(told) : checkStream(client.id, told).data;
              assert.deepEqual(said(client.id, gathered(client.id, { text: told, data })), whole);
            }
          }),
          { numRuns: CASES },
        );
      });
    }
});
