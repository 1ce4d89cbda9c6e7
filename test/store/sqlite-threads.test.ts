/** Threads of the embedded engine: visibility of commits, and restarts. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { allowCollections } from '../../src/core/collection.ts';
import { createManualClock, type ManualClock } from '../jobs/manual-clock.ts';
import { until } from '../jobs/rig.ts';
import { openEngine as open, unavailable } from './engine-store.ts';
import { temporaryData } from './stores.ts';

test('who reads sees what was acknowledged, at any moment', async (context) => {
  const store = await open(context, temporaryData(context));
  await store.call('put', { subject: 'count', value: 0 });
  const busy = Promise.all(Array.from({ length: 20 }, (_, value) => store.call('put', { subject: `${value}`, value })));
  for (let count = 1; count <= 200; count++) {
    await store.call('increment', { subject: 'count' });
    assert.equal(await store.call('get', { subject: 'count' }), count);
  }
  await busy;
});

test('a thread gives memory back when it is asked to, where collections are allowed', async (context) => {
  const store = await open(context, temporaryData(context));
  const grown = await store.call('litter', { objects: 1_000_000 });
  await store.releaseMemory?.();
  assert.equal(await store.call('litter', { objects: 0 }), grown);
  const end = allowCollections();
  await store.releaseMemory?.();
  end();
  const left = await store.call('litter', { objects: 0 });
  assert.ok(left <= grown / 2, `${left} of ${grown} bytes`);
  await Promise.all([store.releaseMemory?.(), store.call('die', {}).catch(() => undefined)]);
});

describe('a writer that dies', () => {
  test('fails what was under way, and another takes its place', async (context) => {
    const store = await open(context, temporaryData(context));
    await store.call('put', { subject: 'before', value: 1 });
    const [before, ...outcomes] = await Promise.allSettled([
      store.call('put', { subject: 'with', value: 1 }),
      store.call('die', {}),
      store.call('put', { subject: 'after', value: 1 }),
    ]);
    for (const outcome of outcomes) {
      assert.equal(outcome.status, 'rejected');
      assert.ok(unavailable(/the writer ended/)(outcome.reason));
    }
    assert.equal(await store.call('get', { subject: 'before' }), 1);
    // It may have had a transaction of its own.
    assert.equal(await store.call('get', { subject: 'with' }), before.status === 'fulfilled' ? 1 : undefined);
    await store.call('put', { subject: 'after', value: 1 });
    assert.deepEqual(await store.health(), { writable: true });
  });

  test('is not started over and over while it cannot work', async (context) => {
    const folder = temporaryData(context);
    const clock = createManualClock(Date.now());
    const store = await open(context, folder, { clock });
    await assert.rejects(store.call('die', {}));
    const files = ['state.db', 'state.db-wal', 'state.db-shm'].filter((file) => existsSync(join(folder, file)));
    for (const file of files) renameSync(join(folder, file), join(folder, `${file}.away`));
    mkdirSync(join(folder, 'state.db'));
    const put = () => store.call('put', { subject: 'a', value: 1 });
    await assert.rejects(put, unavailable(/the file cannot be opened/));
    await assert.rejects(put, unavailable(/not started again yet/));
    rmSync(join(folder, 'state.db'), { recursive: true });
    for (const file of files) renameSync(join(folder, `${file}.away`), join(folder, file));
    clock.advance(120);
    await put();
  });
});

describe('the reader', () => {
  test('runs while it is needed', async (context) => {
    const clock = createManualClock(Date.now());
    const store = await open(context, temporaryData(context), { readerIdleMs: 50, clock });
    await store.call('put', { subject: 'a', value: 1 });
    assert.equal(await store.call('get', { subject: 'a' }), 1);
    assert.equal(threads(), 2, 'a short read uses an idle writer');
    const held = store.call('pause', { milliseconds: 500 });
    const read = store.call('get', { subject: 'a' });
    clock.advance(51);
    assert.equal(threads(), 2, 'a reader is not started for a short delay');
    clock.advance(200);
    assert.equal(await read, 1);
    assert.equal(threads(), 3, 'a writer that is held up has a reader beside it');
    const second = store.call('get', { subject: 'a' });
    clock.advance(51);
    assert.equal(await second, 1, 'a reader that runs is asked soon');
    await held;
    await threadsBecome(2, clock);
    assert.equal(await store.call('scan', {}), 1);
    assert.equal(threads(), 3, 'a long read has the reader');
    await threadsBecome(2, clock);
    await Promise.all([store.call('scan', {}), store.close()]);
    assert.equal(threads(), 0);
  });

  test('stays for another thread that is attached to it', async (context) => {
    const clock = createManualClock(Date.now());
    const store = await open(context, temporaryData(context), { readerIdleMs: 20, clock });
    const { port1, port2 } = new MessageChannel();
    context.after(() => port1.close());
    assert.ok(store.access?.engine === 'sqlite');
    store.access.attach('reader', port2);
    clock.advance(200);
    port1.postMessage({ type: 'call', call: { id: 1, name: 'scan', parameters: {} } });
    const [{ results }] = await once(port1, 'message');
    assert.deepEqual(results, [{ id: 1, result: 0 }]);
  });
});

/** Threads of this process: no other test of this file runs meanwhile. */
function threads(): number {
  const { workers } = process.report.getReport() as unknown as { workers: unknown[] };
  return workers.length;
}

/** Lets time pass until so many threads are left. */
function threadsBecome(count: number, clock: ManualClock): Promise<void> {
  return until(() => {
    clock.advance(60);
    return threads() === count;
  });
}
