/** Alignment of bodies: every golden request and response of every pair of protocols, and single values by example. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type AlignedLeaf, align, valueKey } from '../../ui/src/wire/align.ts';
import { type Leaf, leavesOf, MAX_LEAVES } from '../../ui/src/wire/leaves.ts';

const golden = join(import.meta.dirname, '../golden');
const PROTOCOLS = ['chat', 'messages', 'generate', 'responses'];

interface Case {
  name: string;
  left: Leaf[];
  right: Leaf[];
  dropped: string[];
}

function casesOf(kind: 'requests' | 'responses', from: string): Case[] {
  const folder = join(golden, kind, from);
  const read = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8'));
  return readdirSync(folder).flatMap((file) => {
    const [, name = '', to = ''] = /^(.+)\.to-(\w+)\.json$/.exec(file) ?? [];
    const made = name === '' ? undefined : read(file);
    if (made === undefined || made.error !== undefined) return [];
    const { body } = read(`${name}.json`);
    const [left, right] = [leavesOf(body).leaves, leavesOf(made.body ?? made).leaves];
    return [{ name: `${name} to ${to}`, left, right, dropped: made.dropped ?? [] }];
  });
}

function checkRows(rows: readonly AlignedLeaf[], { left, right }: Pick<Case, 'left' | 'right'>): void {
  assert.deepEqual(new Set(rows.map((row) => row.left).filter(Boolean)), new Set(left));
  assert.equal(rows.filter((row) => row.left).length, left.length);
  assert.deepEqual(new Set(rows.map((row) => row.right).filter(Boolean)), new Set(right));
  for (const { mark, left: one, right: other } of rows) {
    if (mark === 'same') assert.deepEqual([one?.path, one?.value], [other?.path, other?.value]);
    if (mark === 'renamed') assert.deepEqual([one?.parent, one?.value], [other?.parent, other?.value]);
    assert.equal(other === undefined && one?.name !== undefined, mark === 'dropped' || (mark === 'reshaped' && !other));
    assert.equal(one === undefined, mark === 'added');
  }
}

for (const kind of ['requests', 'responses'] as const) {
  for (const from of PROTOCOLS) {
    test(`every leaf of the ${kind} of ${from} has one place, and no value is both dropped and added`, () => {
      const cases = casesOf(kind, from);
      assert.ok(cases.length > 20, `${cases.length}`);
      for (const { name, left, right, dropped } of cases) {
        const rows = align(left, right, { dropped });
        checkRows(rows, { left, right });
        const known = new Set(dropped.flatMap((field) => field.split(/[.,]/)));
        const lost = rows.filter(({ mark, left: one }) => mark === 'dropped' && !known.has(one?.name ?? ''));
        const keys = (leaf: Leaf | undefined) => (leaf ? `${leaf.name} ${valueKey(leaf)}` : '');
        const added = new Set(rows.filter(({ mark }) => mark === 'added').map(({ right: other }) => keys(other)));
        for (const { left: one } of lost) {
          const isTold = dropped.some((field) => one?.path.replace(/\[\d+\]/g, '').startsWith(field));
          assert.ok(isTold || !added.has(keys(one)), `${name}: ${keys(one)}`);
        }
      }
    });
  }
}

test('a field that the gateway dropped is marked', () => {
  let count = 0;
  for (const from of PROTOCOLS) {
    for (const { left, right, dropped } of casesOf('requests', from)) {
      const rows = align(left, right, { dropped });
      for (const field of dropped) {
        const own = rows.filter(({ left: one }) => one?.path === field);
        count += own.length;
        assert.ok(
          own.every(({ mark }) => mark === 'dropped' || mark === 'reshaped'),
          field,
        );
      }
    }
  }
  assert.ok(count > 50, `${count}`);
});

describe('by example', () => {
  const marks = (left: unknown, right: unknown, options: Parameters<typeof align>[2] & { url?: string } = {}) =>
    align(leavesOf(left).leaves, leavesOf(right, options.url).leaves, options).map(
      ({ mark, left: one, right: other }) => [mark, one?.path, other?.path],
    );

  test('messages to chat', () => {
    const sent = {
      model: 'openai/gpt',
      max_tokens: 100,
      top_k: 5,
      system: 'Be brief and kind.',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Name three rivers.' }] }],
    };
    const upstream = {
      model: 'gpt',
      max_completion_tokens: 100,
      messages: [
        { role: 'system', content: 'Be brief and kind.' },
        { role: 'user', content: 'Name three rivers.' },
      ],
    };
    assert.deepEqual(marks(sent, upstream, { dropped: ['top_k'] }), [
      ['reshaped', 'model', 'model'],
      ['renamed', 'max_tokens', 'max_completion_tokens'],
      ['dropped', 'top_k', undefined],
      ['added', undefined, 'messages[0].role'],
      ['reshaped', 'system', 'messages[0].content'],
      ['reshaped', 'messages[0].role', 'messages[1].role'],
      ['reshaped', 'messages[0].content[0].type', undefined],
      ['reshaped', 'messages[0].content[0].text', 'messages[1].content'],
    ]);
  });

  test('chat to generate, whose address names the model', () => {
    const sent = {
      model: 'google/flash',
      stream: true,
      messages: [{ role: 'assistant', content: 'Danube and Rhine' }],
    };
    const upstream = { contents: [{ role: 'model', parts: [{ text: 'Danube and Rhine' }] }] };
    const url = 'https://example.com/v1beta/models/flash:streamGenerateContent?alt=sse';
    assert.deepEqual(marks(sent, upstream, { url }), [
      ['reshaped', 'model', 'address.model'],
      ['reshaped', 'stream', 'address.stream'],
      ['reshaped', 'messages[0].role', 'contents[0].role'],
      ['reshaped', 'messages[0].content', 'contents[0].parts[0].text'],
    ]);
  });

  test('arguments as text and as an object, and a data URL in two parts', () => {
    const sent = { arguments: '{"city":"Paris"}', url: 'data:image/png;base64,aGVsbG8=' };
    const upstream = { input: { city: 'Paris' }, source: { media_type: 'image/png', data: 'aGVsbG8=' } };
    assert.deepEqual(marks(sent, upstream), [
      ['reshaped', 'arguments (JSON).city', 'input.city'],
      ['reshaped', 'url (type)', 'source.media_type'],
      ['reshaped', 'url (data)', 'source.data'],
    ]);
  });

  test('texts that become one', () => {
    const sent = { system: ['The first sentence.', 'The second sentence.'] };
    const upstream = { instructions: 'The first sentence.\n\nThe second sentence.' };
    assert.deepEqual(marks(sent, upstream), [
      ['reshaped', 'system[0]', 'instructions'],
      ['reshaped', 'system[1]', 'instructions'],
    ]);
  });

  test('schemas of tools, whose types are everywhere', () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    const sent = { tools: [{ type: 'function', function: { name: 'weather', parameters } }] };
    const upstream = { tools: [{ name: 'weather', input_schema: parameters }] };
    assert.deepEqual(marks(sent, upstream), [
      ['reshaped', 'tools[0].type', undefined],
      ['reshaped', 'tools[0].function.name', 'tools[0].name'],
      ['reshaped', 'tools[0].function.parameters.type', 'tools[0].input_schema.type'],
      ['reshaped', 'tools[0].function.parameters.properties.city.type', 'tools[0].input_schema.properties.city.type'],
    ]);
  });

  test('what says a shape goes with its object, and null with nothing', () => {
    const answer = { message: { content: null, tool_calls: [{ id: 'call_1234', type: 'function' }] } };
    const response = { output: [{ call_id: 'call_1234' }], tools: [{ type: 'function', name: 'weather' }] };
    assert.deepEqual(marks(answer, response), [
      ['reshaped', 'message.content', undefined],
      ['reshaped', 'message.tool_calls[0].id', 'output[0].call_id'],
      ['added', undefined, 'tools[0].type'],
      ['added', undefined, 'tools[0].name'],
      ['reshaped', 'message.tool_calls[0].type', undefined],
    ]);
  });
});

test('a body is the same as itself', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (body) => {
      const { leaves } = leavesOf(body);
      const rows = align(leaves, leavesOf(body).leaves);
      assert.ok(rows.every(({ mark }) => mark === 'same'));
    }),
  );
});

test('any two bodies are aligned', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.jsonValue({ maxDepth: 4 }), (one, other) => {
      const [left, right] = [leavesOf(one).leaves, leavesOf(other).leaves];
      checkRows(align(left, right), { left, right });
    }),
  );
});

test('a hostile body costs what its first leaves cost', () => {
  const body = { values: Array.from({ length: 100_000 }, (_, index) => (index % 2 === 0 ? 'a value' : index)) };
  const { leaves, omitted } = leavesOf(body);
  assert.deepEqual([leaves.length, omitted], [MAX_LEAVES, 100_000 - MAX_LEAVES]);
  let looks = 0;
  const watched = leaves.map((leaf) => ({
    ...leaf,
    get value() {
      looks += 1;
      return leaf.value;
    },
  }));
  align(watched, leavesOf({ others: [...body.values].reverse() }).leaves);
  assert.ok(looks < 100 * MAX_LEAVES, `${looks}`);
  let deep: unknown = 'end';
  for (let depth = 0; depth < 5000; depth++) deep = [deep];
  assert.equal(leavesOf(deep).leaves.length, 1);
});
