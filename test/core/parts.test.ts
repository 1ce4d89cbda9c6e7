import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ChatEvent, OpenPart } from '../../src/core/chat.ts';
import { fold } from '../../src/core/fold.ts';
import { createPartWriter, type PartWriter } from '../../src/core/parts.ts';

function partsOf(write: (writer: PartWriter) => ChatEvent[], candidate = 0): OpenPart[] {
  const writer = createPartWriter();
  const events = [...write(writer), ...writer.close(candidate)];
  assertSequential(events);
  const whole = fold([{ type: 'message-start', id: '', model: '' }, ...events, { type: 'message-end' }]);
  return whole.candidates[candidate]?.parts ?? [];
}

/** One part at a time, in ascending order. */
function assertSequential(events: ChatEvent[]): void {
  let open: number | undefined;
  let next = 0;
  for (const event of events) {
    if (event.type === 'part-start') {
      assert.equal(open, undefined);
      assert.equal(event.index, next++);
      open = event.index;
    } else if (event.type === 'part-delta') assert.equal(event.index, open);
    else if (event.type === 'part-end') {
      assert.equal(event.index, open);
      open = undefined;
    }
  }
  assert.equal(open, undefined);
}

test('runs of one kind become one part', () => {
  const parts = partsOf((writer) => [
    ...writer.text(0, 'reasoning', { text: 'a' }),
    ...writer.text(0, 'reasoning', { text: 'b' }),
    ...writer.text(0, 'text', { text: 'c' }),
    ...writer.text(0, 'reasoning', { text: 'd' }),
  ]);
  assert.deepEqual(parts, [
    { type: 'reasoning', text: 'ab' },
    { type: 'text', text: 'c' },
    { type: 'reasoning', text: 'd' },
  ]);
});

test('interleaved calls are emitted one after another without loss', () => {
  const first = '{"city":"Paris","days":[1,2,3]}';
  const second = '{"city":"Rome","note":"}{"}';
  fc.assert(
    fc.property(fc.infiniteStream(fc.boolean()), (choices) => {
      const parts = partsOf((writer) => {
        const events = writer.call(0, 0, { id: 'a', name: 'one' });
        events.push(...writer.call(0, 1, { id: 'b', name: 'two' }));
        let [one, two] = [0, 0];
        for (const choice of choices) {
          if (one === first.length && two === second.length) break;
          if ((choice && one < first.length) || two === second.length)
            events.push(...writer.call(0, 0, { args: first[one++] }));
          else events.push(...writer.call(0, 1, { args: second[two++] }));
        }
        return events;
      });
      assert.deepEqual(parts, [
        { type: 'call', id: 'a', name: 'one', args: first },
        { type: 'call', id: 'b', name: 'two', args: second },
      ]);
    }),
  );
});

test('a call without arguments does not block later calls forever', () => {
  const parts = partsOf((writer) => [
    ...writer.call(0, 0, { id: 'a', name: 'now' }),
    ...writer.call(0, 1, { id: 'b', name: 'two', args: '{}' }),
    ...writer.text(0, 'text', { text: 'done' }),
  ]);
  assert.deepEqual(
    parts.map((part) => part.type),
    ['call', 'call', 'text'],
  );
});

test('candidates are independent', () => {
  const writer = createPartWriter();
  const events = [
    ...writer.text(0, 'text', { text: 'a' }),
    ...writer.text(1, 'text', { text: 'x' }),
    ...writer.text(0, 'text', { text: 'b' }),
    ...writer.text(1, 'text', { text: 'y' }),
    ...writer.close(0),
    ...writer.close(1),
  ];
  const whole = fold([{ type: 'message-start', id: '', model: '' }, ...events, { type: 'message-end' }]);
  assert.deepEqual(
    whole.candidates.map(({ parts }) => parts),
    [[{ type: 'text', text: 'ab' }], [{ type: 'text', text: 'xy' }]],
  );
});

test('text between fragments of calls is queued until the calls are complete', () => {
  const parts = partsOf((writer) => [
    ...writer.call(0, 0, { id: 'a', name: 'one', args: '{"x"' }),
    ...writer.text(0, 'text', { text: 'wo' }),
    ...writer.call(0, 1, { id: 'b', name: 'two', args: '{}' }),
    ...writer.text(0, 'text', { text: 'rds' }),
    ...writer.call(0, 0, { args: ':1}' }),
    ...writer.call(0, 0, { args: '' }),
  ]);
  assert.deepEqual(parts, [
    { type: 'call', id: 'a', name: 'one', args: '{"x":1}' },
    { type: 'call', id: 'b', name: 'two', args: '{}' },
    { type: 'text', text: 'words' },
  ]);
});
