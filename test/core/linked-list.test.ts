/** Linked lists, and that elements that left one keep nothing alive. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Linked, LinkedList } from '../../src/core/linked-list.ts';

interface Item extends Linked<Item> {
  name: string;
}

const item = (name: string): Item => ({ name, previous: undefined, next: undefined });
const namesOf = (list: LinkedList<Item>) => [...list].map(({ name }) => name).join('');

test('elements keep their order, and each is removed once', () => {
  const list = new LinkedList<Item>();
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(item) as [Item, Item, Item, Item];
  for (const one of [a, b, c, d]) list.add(one);
  assert.equal(namesOf(list), 'abcd');
  assert.equal(list.delete(b), true);
  assert.equal(list.delete(b), false);
  assert.equal(list.has(b), false);
  assert.equal(list.delete(d), true);
  list.add(b);
  assert.equal(namesOf(list), 'acb');
  assert.equal(list.delete(a), true);
  assert.equal([...list][0], c);
  assert.equal(list.has(c), true);
  assert.equal(list.size, 2);
  for (const one of list) list.delete(one);
  assert.equal([...list][0], undefined);
  assert.equal(list.size, 0);
  list.add(a);
  assert.ok(list.has(a));
  assert.equal(namesOf(list), 'a');
});

test('an element that left refers to no other', () => {
  const list = new LinkedList<Item>();
  const items = ['a', 'b', 'c'].map(item);
  for (const one of items) list.add(one);
  for (const one of items) list.delete(one);
  for (const one of items) assert.deepEqual([one.previous, one.next], [undefined, undefined]);
});
