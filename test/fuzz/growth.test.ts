/** Time grows with the length of what an upstream sends, and no faster. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Protocol } from '../../src/core/protocol.ts';
import { createFramer } from '../../src/core/sse.ts';
import { protocolOf, protocols } from '../../src/protocols/index.ts';
import { frame, named } from '../conformance/answers.ts';
import { deliver } from './delivery.ts';

/** Enough that quadratic time shows. */
const LONG = 30_000;
/** Milliseconds that fixed work takes on a machine on which the bound below is several times what a stream takes. */
const FIXED_WORK_MS = 80;
/** Milliseconds of the thread's own time; a slower machine has as much more as the fixed work takes there. */
const PATIENCE = 2000 * Math.max(1, timeOf(fixedWork) / FIXED_WORK_MS);

function assertFast(work: () => void): void {
  const took = timeOf(work);
  assert.ok(took < PATIENCE, `took ${Math.round(took)} of ${Math.round(PATIENCE)} ms`);
}

function timeOf(work: () => void): number {
  const start = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(start);
  return (user + system) / 1000;
}

function fixedWork(): void {
  const text = JSON.stringify({ candidates: [{ content: { parts: [{ text: 'x' }, { text: 'y', thought: true }] } }] });
  for (let round = 0; round < 60_000; round++) JSON.stringify(JSON.parse(text));
}

const choice = (delta: object, more = {}) => frame({ id: '1', choices: [{ index: 0, delta, ...more }] });
const calling = (index: number, args: string) =>
  choice({ tool_calls: [{ index, id: `call_${index}`, function: { name: 'f', arguments: args } }] });
const chatEnd = choice({}, { finish_reason: 'stop' });
const candidate = (parts: object[], more = {}) => frame({ candidates: [{ content: { parts }, ...more }] });
const many = (piece: (index: number) => string) => Array.from({ length: LONG }, (_, index) => piece(index)).join('');

const message = (block: object, deltas: string) =>
  [
    named({ type: 'message_start', message: { id: '1', usage: { input_tokens: 1, output_tokens: 1 } } }),
    named({ type: 'content_block_start', index: 0, content_block: block }),
    deltas,
    named({ type: 'content_block_stop', index: 0 }),
    named({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }),
    named({ type: 'message_stop' }),
  ].join('');
const grown = (delta: object) => named({ type: 'content_block_delta', index: 0, delta });

const groundless = (supports: number) => ({
  groundingChunks: [],
  groundingSupports: Array(supports).fill({ segment: { endIndex: 2 }, groundingChunkIndices: [0] }),
});

const STREAMS: [name: string, upstream: string, text: () => string][] = [
  [
    'arguments in pieces',
    'chat',
    () => calling(0, '{"a":"') + many(() => calling(0, '{}}')) + calling(0, '"}') + chatEnd,
  ],
  ['calls', 'chat', () => many((index) => calling(index, '{}')) + chatEnd],
  [
    'log probabilities',
    'chat',
    () => many(() => choice({ content: 'x' }, { logprobs: { content: [{ token: 'x' }] } })) + chatEnd,
  ],
  [
    'kinds of parts by turns',
    'chat',
    () => many((index) => choice(index % 2 ? { content: 'x' } : { reasoning: 'y' })) + chatEnd,
  ],
  [
    'citations',
    'messages',
    () =>
      message(
        { type: 'text' },
        many(() => grown({ type: 'citations_delta', citation: { url: 'u' } })),
      ),
  ],
  [
    'arguments in pieces',
    'messages',
    () =>
      message(
        { type: 'tool_use', id: '1', name: 'f' },
        many((index) =>
          grown({ type: 'input_json_delta', partial_json: index === 0 ? '{' : index === LONG - 1 ? '}' : ' ' }),
        ),
      ),
  ],
  [
    'grounding',
    'generate',
    () =>
      candidate([{ text: 'é'.repeat(LONG) }], {
        finishReason: 'STOP',
        groundingMetadata: {
          groundingChunks: [{ web: { uri: 'u' } }],
          groundingSupports: Array.from({ length: LONG }, (_, index) => ({
            segment: { startIndex: index * 2, endIndex: index * 2 + 2 },
            groundingChunkIndices: [0],
          })),
        },
      }),
  ],
  [
    'grounding in sources that it lacks, and ends of texts',
    'generate',
    () =>
      candidate([{ text: 'é'.repeat(LONG) }], { groundingMetadata: groundless(LONG) }) +
      many(() => candidate([{ text: 'x' }, { text: 'y', thought: true }], { finishReason: 'STOP' })),
  ],
  [
    'grounding in sources that it lacks, with each end of a text',
    'generate',
    () =>
      candidate([{ text: 'é'.repeat(LONG) }]) +
      many(() =>
        candidate([{ text: 'x' }, { text: 'y', thought: true }], {
          finishReason: 'STOP',
          groundingMetadata: groundless(1),
        }),
      ),
  ],
];

describe('a long stream takes no more than its share of time', () => {
  for (const [position, [name, upstream, text]] of STREAMS.entries()) {
    const others = protocols.filter(({ id }) => id !== upstream);
    const client = others[position % others.length] as Protocol;
    test(`${name} from ${upstream} to ${client.id}`, () => {
      const chunks = [Buffer.from(text())];
      const asked = { client, upstream: protocolOf(upstream), stream: true };
      assertFast(() => assert.equal(deliver(asked, { type: 'text/event-stream', chunks }).error, undefined));
    });
  }

  test('bytes one by one, and lines that end in carriage returns', () => {
    assertFast(() => {
      const framer = createFramer();
      for (let index = 0; index < LONG * 10; index++) framer.push(Buffer.from('x'));
    });
    assertFast(() => createFramer().push(Buffer.from(`${'x\r'.repeat(LONG * 50)}\n`)));
  });
});
