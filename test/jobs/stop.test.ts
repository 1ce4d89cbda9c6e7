/** A gateway that stops while it claims: nothing more is begun. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScheduler } from '../../src/jobs/scheduler.ts';
import type { Store } from '../../src/store/store.ts';
import { openTestSqlite } from '../store/stores.ts';
import { jobs, openJobStore, silent } from './rig.ts';

test('jobs claimed while the scheduler stops are returned without being run', async (context) => {
  const store = await openJobStore(context, openTestSqlite);
  await store.do('addJobs', { jobs: jobs(3, { dueAt: store.now() }) });
  const claimed = Promise.withResolvers<void>();
  const stopping = Promise.withResolvers<void>();
  const seen: Store = {
    ...store,
    async call(name, parameters) {
      const result = await store.call(name, parameters);
      if (name === 'claimJobs') {
        claimed.resolve();
        await stopping.promise;
      }
      return result;
    },
  };
  const run = () => assert.fail('nothing is begun');
  const handler = { kind: 'test', limits: { total: 8, lane: 8 }, maxRunMs: 1000, run };
  const scheduler = createScheduler({ store: seen, handlers: [handler], log: silent });
  await claimed.promise;
  const stopped = scheduler.stop(1000);
  stopping.resolve();
  await stopped;
  const rows = await store.do('listJobs', { kind: 'test' });
  assert.deepEqual(
    rows.map(({ lease, faults }) => [lease, faults]),
    Array(3).fill(['', 0]),
  );
});
