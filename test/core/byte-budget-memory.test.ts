/** Memory of a byte budget: large buffers whose shares are closed, and owners. */

import { equal, ok } from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createByteBudget } from '../../src/core/byte-budget.ts';

const MEBIBYTE = 2 ** 20;
const BUFFERS = 24;
const BUFFER_BYTES = 4 * MEBIBYTE;

describe('large buffers in a byte budget', () => {
  it('do not pile up after their shares are closed', async () => {
    const budget = createByteBudget(2 * BUFFER_BYTES);
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    for (let made = 0; made < BUFFERS; made++) {
      useBuffer(budget.open('key'));
      // Threads of V8 free what was collected.
      await delay(2);
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }
    equal(budget.held, 0);
    ok(most <= 7 * BUFFER_BYTES, `${Math.round(most / MEBIBYTE)} MiB of buffers in memory`);
  });
});

describe('owners of a byte budget', () => {
  /** A budget, and the number of owners that it keeps: all its maps are counted. */
  function watchedBudget(limitBytes: number) {
    const maps: Map<unknown, unknown>[] = [];
    const OwnMap = globalThis.Map;
    class NotedMap<Key, Value> extends OwnMap<Key, Value> {
      constructor(entries?: readonly (readonly [Key, Value])[] | null) {
        super(entries);
        maps.push(this);
      }
    }
    globalThis.Map = NotedMap as MapConstructor;
    try {
      const budget = createByteBudget(limitBytes);
      ok(maps.length > 0);
      return { budget, kept: () => Math.max(...maps.map((map) => map.size)) };
    } finally {
      globalThis.Map = OwnMap;
    }
  }

  /** Opens shares of so many new owners that hold a byte each. */
  function holdBy(budget: ReturnType<typeof createByteBudget>, owners: number, name: string) {
    return Array.from({ length: owners }, (_, index) => {
      const share = budget.open(`${name}-${index}`);
      equal(share.resize(1), true);
      return share;
    });
  }

  it('are forgotten beyond a thousand when they hold nothing', () => {
    const { budget, kept } = watchedBudget(MEBIBYTE);
    for (let owner = 0; owner < 20_000; owner++) for (const share of holdBy(budget, 1, `one-${owner}`)) share.close();
    ok(kept() <= 1001, `${kept()} owners`);
    const holding = holdBy(budget, 3000, 'holding');
    for (let owner = 0; owner < 5000; owner++) for (const share of holdBy(budget, 1, `beside-${owner}`)) share.close();
    ok(kept() <= 3000 + 1001, `${kept()} owners`);
    for (const share of holding) share.close();
    ok(kept() <= 1001, `${kept()} owners`);
    equal(budget.held, 0);
  });

  it('of a refused share, or of one that was never used, are not kept', () => {
    const { budget, kept } = watchedBudget(10);
    for (let owner = 0; owner < 5000; owner++) {
      const share = budget.open(`owner-${owner}`);
      equal(share.resize(11), false);
      if (owner % 2 === 0) share.close();
    }
    ok(kept() <= 1001, `${kept()} owners`);
  });
});

/** Reserves a buffer, fills it, and drops it. */
function useBuffer(share: ReturnType<ReturnType<typeof createByteBudget>['open']>): void {
  equal(share.resize(BUFFER_BYTES), true);
  Buffer.allocUnsafeSlow(BUFFER_BYTES).fill(1);
  share.close();
}
