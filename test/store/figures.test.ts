/** Figures of the operation of a gateway, on both engines. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobs, openJobStore } from '../jobs/rig.ts';
import { forEachStore } from './stores.ts';

const NOW = 1_800_000_000_000;
const LEASE_MS = 60_000;

forEachStore((name, open) => {
  test(`jobs are counted by kind: those that are due, and those that are run (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    await store.do('addJobs', { jobs: jobs(3, { dueAt: NOW - 5000 }) });
    await store.do('addJobs', { jobs: jobs(2, { kind: 'other', dueAt: NOW + 5000 }) });
    await store.do('addJobs', { jobs: jobs(1, { kind: 'third', dueAt: NOW - 1000 }) });
    const claim = { kind: 'test', now: NOW, until: NOW, lease: 'a', leaseUntil: NOW + LEASE_MS };
    await store.call('claimJobs', { ...claim, slots: 1, lateSlots: 1, maxPerLane: 8, maxPerOwner: 8 });
    assert.deepEqual(await store.call('jobFigures', { now: NOW }), [
      { kind: 'test', due: 2, oldestDueAt: NOW - 5000, leased: 1, leaseEndsAt: NOW + LEASE_MS },
      { kind: 'third', due: 1, oldestDueAt: NOW - 1000, leased: 0 },
    ]);
    const [expired] = await store.call('jobFigures', { now: NOW + LEASE_MS + 1 });
    assert.deepEqual(expired, { kind: 'other', due: 2, oldestDueAt: NOW + 5000, leased: 0 });
  });

  test(`gateways and workers are listed while they are alive (${name})`, async (context) => {
    const store = await open(context);
    const beat = (id: string, now: number) =>
      store.call('heartbeat', { id, now, until: now + 30_000, exclusive: false });
    await beat('a', NOW - 60_000);
    // It joins while another one is alive.
    await beat('c', NOW - 40_000);
    await beat('b', NOW - 20_000);
    await beat('b/1.1', NOW - 10_000);
    assert.deepEqual(await store.call('liveInstances', { now: NOW, limit: 10 }), [
      { id: 'b', startedAt: NOW - 20_000, heartbeatUntil: NOW + 10_000 },
      { id: 'b/1.1', startedAt: NOW - 10_000, heartbeatUntil: NOW + 20_000 },
    ]);
  });

  test(`the store has a size (${name})`, async (context) => {
    const store = await open(context);
    const { engine } = store;
    const state = await store.call('stateBytes', { engine });
    const usage = await store.call('usageBytes', { engine });
    assert.ok(state > 4096, `${state}`);
    assert.equal(usage > 0, engine === 'sqlite');
  });
});
