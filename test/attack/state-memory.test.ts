/** Turns that name a remembered call again and again, or in a long run: what is restored takes time in proportion to them. */

import assert from 'node:assert/strict';
import type { Part, Turn } from '../../src/core/chat.ts';
import { createStateMemory } from '../../src/inference/state/memory.ts';
import { attack } from './attack.ts';

const CALLS = 30_000;
const BOUND_MS = 500;

const call = (id: string): Part => ({ type: 'call', id, name: 'f', args: '' });
const many = <Item>(make: () => Item): Item[] => Array.from({ length: CALLS }, make);

const SHAPES: Record<string, () => Turn[]> = {
  'one turn of 30,000 times one call': () => [{ role: 'assistant', parts: many(() => call('c')) }],
  '30,000 turns of one call': () => many(() => ({ role: 'assistant', parts: [call('c')] })),
};

for (const [attempt, make] of Object.entries(SHAPES)) {
  attack('conversations', { by: 'key holder', attempt, bound: `restored within ${BOUND_MS} ms` }, async () => {
    const memory = createStateMemory();
    memory.remember('key', 'origin', [
      { type: 'reasoning', text: 'Thought.' },
      { type: 'call', id: 'c', name: 'f', args: '' },
    ]);
    const turns = make();
    const before = process.threadCpuUsage();
    memory.restore('key', 'origin', turns);
    const { user, system } = process.threadCpuUsage(before);
    const spent = (user + system) / 1000;
    assert.deepEqual(
      turns.map(({ parts: [first] }) => first?.type),
      turns.map(() => 'reasoning'),
    );
    assert.ok(spent < BOUND_MS, `${spent} ms`);
    return `${spent.toFixed(0)} ms`;
  });
}
