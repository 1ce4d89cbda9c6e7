/** Answers of upstreams of other protocols, whole and streamed, held against the types of the official SDKs. */

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import fc from 'fast-check';
import { protocols, upstreamProtocols } from '../../src/protocols/index.ts';
import type { UpstreamAnswer } from '../fuzz/answers/drawing.ts';
import { answersOf } from '../fuzz/answers/index.ts';
import { deliver } from '../fuzz/delivery.ts';
import { checkStream } from '../validators/index.ts';
import { Misfits } from './declared-answers.ts';
import type { UpstreamProtocol } from './upstreams.ts';

const CASES = 60;

function bytesOf({ frames }: UpstreamAnswer): Buffer {
  const text = frames.map(({ event, data }) => {
    const name = event === undefined ? '' : `event: ${event}\n`;
    return `${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
  });
  return Buffer.from(text.join(''));
}

describe('answers have the types of the official SDK', () => {
  before(() => Promise.all(upstreamProtocols.map((protocol) => protocol.load?.())));
  for (const client of protocols) {
    for (const upstream of upstreamProtocols.filter(({ id }) => id !== client.id))
      test(`from ${upstream.id} to ${client.id}`, () => {
        const misfits = new Misfits(client.id as UpstreamProtocol);
        fc.assert(
          fc.property(answersOf(upstream.id), (answer) => {
            const chunks = [Buffer.from(JSON.stringify(answer.whole))];
            const { text, error } = deliver({ client, upstream, stream: false }, { chunks });
            if (text === undefined || error) return;
            misfits.addWhole(JSON.parse(text));
            const stream = { type: 'text/event-stream', chunks: [bytesOf(answer)] };
            const told = deliver({ client, upstream, stream: true }, stream).text ?? '';
            misfits.addStream(checkStream(client.id, told).data);
          }),
          { numRuns: CASES },
        );
        assert.deepEqual(misfits.list(), []);
      });
  }
});

test('an answer of another type is found out', () => {
  const misfits = new Misfits('chat');
  const choice = {
    index: 0,
    message: { role: 'assistant', content: 7, refusal: null },
    finish_reason: 'eos',
    logprobs: null,
  };
  misfits.addWhole({ id: 'c', object: 'chat.completion', created: 1, choices: [choice] });
  assert.deepEqual(misfits.list().sort(), [
    'ChatCompletion.choices[].finish_reason: "eos"',
    'ChatCompletion.choices[].message.content: 7',
    'ChatCompletion.model: undefined',
  ]);
});
