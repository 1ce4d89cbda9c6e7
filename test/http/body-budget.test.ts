/** The budget of bytes for request bodies, and the connections that open files leave room for. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createBodyBudget, defaultBodyMemory } from '../../src/http/body-budget.ts';
import { maxConnections } from '../../src/http/connection-limits.ts';

/** How many reservations of so many bytes an owner gets. */
function fill(budget: ReturnType<typeof createBodyBudget>, owner: string, bytes: number): number {
  let count = 0;
  while (budget.open(owner, bytes)) count += 1;
  return count;
}

describe('the budget of bodies', () => {
  test('leaves room for others, whoever fills it', () => {
    const budget = createBodyBudget(1000);
    assert.equal(fill(budget, 'one', 10), 50);
    assert.equal(fill(budget, 'two', 10), 25);
    assert.equal(fill(budget, 'three', 10), 13);
    assert.ok(fill(budget, 'four', 10) > 0);
    assert.ok(budget.held <= 1000);
  });

  test('takes the largest body, also by pieces', () => {
    const budget = createBodyBudget(100);
    budget.open('one', 100)?.release();
    const growing = budget.open('one', 0);
    for (let size = 1; size <= 100; size += 1) assert.equal(growing?.growTo(size), true);
    assert.equal(growing?.growTo(20), true);
    assert.equal(growing?.growTo(101), false);
    assert.equal(budget.held, 100);
  });

  test('is no larger by pieces', () => {
    const budget = createBodyBudget(1000);
    const pieces = Array.from({ length: 40 }, () => budget.open('one', 0));
    for (let size = 1; size <= 100; size += 1) for (const piece of pieces) piece?.growTo(size);
    assert.ok(budget.held <= 520, `${budget.held}`);
    assert.ok(budget.open('two', 200));
  });

  test('gets everything back once', () => {
    const budget = createBodyBudget(100);
    const [first, second] = [budget.open('one', 30), budget.open('one', 20)];
    first?.release();
    first?.release();
    assert.equal(first?.growTo(90), true);
    assert.equal(budget.held, 20);
    second?.release();
    assert.equal(budget.held, 0);
  });

  test('has room for two of the largest bodies at least', () => {
    assert.ok(defaultBodyMemory(1024) >= 16 * 1024 ** 2);
    assert.equal(defaultBodyMemory(1024 ** 4), 2 * 1024 ** 4);
  });
});

test('connections leave files for the gateway itself', () => {
  assert.equal(maxConnections(256), 80);
  assert.equal(maxConnections(1024), 464);
  assert.equal(maxConnections(64), 16);
  assert.equal(maxConnections(1), 1);
  // The limit of this process is known on systems that have one.
  assert.ok(process.platform === 'win32' || (maxConnections() ?? 0) > 0);
});
