/** Memory of large buffers whose shares of a budget are closed. */

import { equal, ok } from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
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
      await turn();
      await turn();
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }
    equal(budget.held, 0);
    ok(most <= 7 * BUFFER_BYTES, `${Math.round(most / MEBIBYTE)} MiB of buffers in memory`);
  });
});

/** Reserves a buffer, fills it, and drops it. */
function useBuffer(share: ReturnType<ReturnType<typeof createByteBudget>['open']>): void {
  equal(share.resize(BUFFER_BYTES), true);
  Buffer.allocUnsafeSlow(BUFFER_BYTES).fill(1);
  share.close();
}
