/** Reasoning that clients lose or return elsewhere, and what is put back into their history. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallPart, Opaque, OpenPart, Part, ReasoningPart, Turn } from '../../src/core/chat.ts';
import { createStateMemory } from '../../src/inference/state/memory.ts';

const OWNER = 'key';
const ORIGIN = 'provider/family';

const state = (value: string): Opaque => ({ kind: 'signature', value, origin: ORIGIN });
const thought = (text: string, value?: string): ReasoningPart => ({
  type: 'reasoning',
  text,
  ...(value && { opaque: state(value) }),
});
const call = (id: string, value?: string): CallPart => ({
  type: 'call',
  id,
  name: 'f',
  args: '{}',
  ...(value && { opaque: state(value) }),
});
const WORDS: Part = { type: 'text', text: 'I look.' };

/** Parts of the history's answer after `answer` has been given. */
function restored(answer: OpenPart[], ...history: Part[][]): Part[][] {
  const memory = createStateMemory();
  memory.remember(OWNER, ORIGIN, answer);
  const turns = history.map((parts): Turn => ({ role: 'assistant', parts }));
  memory.restore(OWNER, ORIGIN, turns);
  return turns.map(({ parts }) => parts);
}

test('lost reasoning stands before the rest of its answer', () => {
  const answer = [thought('First.', 'a'), call('1')];
  assert.deepEqual(restored(answer, [call('1')]), [answer]);
});

test('reasoning of which the client kept the last piece is whole again', () => {
  const answer = [thought('First.', 'a'), thought('', 'b'), call('1')];
  assert.deepEqual(restored(answer, [thought('', 'b'), call('1')]), [answer]);
  assert.deepEqual(restored(answer, [thought('Fir'), thought('', 'b'), call('1')]), [answer]);
});

test('reasoning whose state comes back on the call stays behind the words before it', () => {
  const history = [WORDS, call('1', 'a')];
  assert.deepEqual(restored([thought('', 'a'), call('1')], history), [history]);
});

test('reasoning that an earlier turn of the same answer has is not repeated', () => {
  const answer = [thought('First.', 'a'), thought('Second.', 'b'), call('1')];
  const history = [[thought('First.', 'a')], [call('1')]];
  assert.deepEqual(restored(answer, ...history), [[thought('First.', 'a')], [thought('Second.', 'b'), call('1')]]);
});
