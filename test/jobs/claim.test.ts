/** Claims on both engines: who gets what, within which limits, and how much a backlog costs. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { Claim, Claimed } from '../../src/store/operations/jobs.ts';
import { forEachStore } from '../store/stores.ts';
import { type JobStore, jobs, openJobStore } from './rig.ts';

const NOW = 1_000_000;

function claim(store: Pick<JobStore, 'call'>, over: Partial<Claim> = {}): Promise<Claimed> {
  return store.call('claimJobs', claimOf(over));
}

function claimOf(over: Partial<Claim> = {}): Claim {
  const limits = { slots: 256, lateSlots: 256, maxPerLane: 8, maxPerOwner: 32 };
  const times = { now: NOW, until: NOW + 1000, leaseUntil: NOW + 30_000 };
  return { kind: 'test', lease: randomUUID(), ...times, ...limits, ...over };
}

const refsAndTimes = ({ jobs }: Claimed) => jobs.map(({ ref, dueAt }) => [ref, dueAt]);
const lanesOf = ({ jobs }: Claimed) => jobs.map(({ lane }) => lane);

forEachStore((name, open) => {
  test(`claims jobs due within the look-ahead once, longest due first (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    const due = [NOW + 1000, NOW - 5, NOW + 1001, NOW];
    await store.do('addJobs', { jobs: due.map((dueAt, index) => job(`${index}`, dueAt)) });
    const first = await claim(store);
    assert.deepEqual(
      first.jobs.map(({ dueAt }) => dueAt),
      [NOW - 5, NOW, NOW + 1000],
    );
    assert.deepEqual(
      { ...first.jobs[0], id: '', lease: '' },
      {
        ...{ id: '', kind: 'test', ref: '1', lane: '', owner: '', dueAt: NOW - 5, attempt: 0, claims: 1, faults: 0 },
        ...{ late: false, lease: '' },
      },
    );
    assert.deepEqual((await claim(store)).jobs, []);
    const later = await claim(store, { now: NOW + 30_000 });
    assert.equal(later.jobs.length, 3, 'leases that ended free their jobs');
    assert.equal(later.jobs[0]?.claims, 2);
  });

  test(`the latest time of a job is known, and times that are too late are corrected (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    const latest = async () => (await store.call('nextDueJobs', { now: NOW })).get('test')?.latest;
    await store.do('addJobs', { jobs: [job('a', NOW)] });
    await claim(store);
    assert.equal(await latest(), NOW + 30_000, 'the lease');
    await store.do('addJobs', { jobs: [job('b', NOW + 40_000), job('c', NOW + 50_000)] });
    assert.equal(await latest(), NOW + 50_000);
    await store.call('correctJobs', { kind: 'test', now: NOW, latest: NOW + 45_000, leaseUntil: NOW });
    assert.equal(await latest(), NOW + 40_000);
    assert.deepEqual(refsAndTimes(await claim(store)), [['c', NOW]]);
    await store.call('correctJobs', { kind: 'test', now: NOW, latest: NOW + 20_000, leaseUntil: NOW });
    assert.deepEqual(refsAndTimes(await claim(store)).sort(), [
      ['a', NOW],
      ['b', NOW],
      ['c', NOW],
    ]);
  });

  test(`limits per lane, per owner and for late jobs apply across all gateways (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    const other = await store.beside();
    for (const lane of ['a', 'b', 'c'])
      await store.do('addJobs', { jobs: jobs(20, { lane, owner: lane, dueAt: NOW }) });
    await store.do('breakLane', { kind: 'test', lane: 'c' });
    const both = await Promise.all([claim(store, { maxPerOwner: 6 }), claim(other, { maxPerOwner: 6 })]);
    const count = (lane: string) => both.flatMap(lanesOf).filter((one) => one === lane).length;
    assert.deepEqual(['a', 'b', 'c'].map(count), [6, 6, 1]);
    assert.deepEqual((await claim(other, { maxPerOwner: 6 })).jobs, []);
    assert.equal((await claim(store, { maxPerOwner: 9 })).jobs.length, 4);
  });

  test(`limits hold under concurrent claims of many gateways (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    const stores = [store, ...(await Promise.all([1, 2, 3].map(() => store.beside())))];
    // Each has its connections.
    await Promise.all(stores.flatMap((one) => [claim(one), claim(one)]));
    for (let round = 0; round < 5; round++) {
      const kind = `round-${round}`;
      await store.do('addJobs', { jobs: jobs(20, { kind, lane: 'a', dueAt: NOW }) });
      const claims = stores.flatMap((one) => [claim(one, { kind, slots: 2 }), claim(one, { kind, slots: 2 })]);
      assert.equal((await Promise.all(claims)).flatMap(lanesOf).length, 8);
    }
  });

  test(`slots are assigned round-robin by lane, and late jobs get only their share (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    await store.do('addJobs', { jobs: jobs(20, { lane: 'busy', dueAt: NOW - 1000 }) });
    await store.do('addJobs', { jobs: jobs(1, { lane: 'quiet', dueAt: NOW }) });
    assert.deepEqual(lanesOf(await claim(store, { slots: 2 })).sort(), ['busy', 'quiet']);
    await store.do('addJobs', { jobs: jobs(9, { kind: 'old', lane: 'old', dueAt: NOW - 5000 }), late: true });
    await store.do('addJobs', { jobs: jobs(9, { kind: 'old', lane: 'new', dueAt: NOW }) });
    const claimed = await claim(store, { kind: 'old', slots: 8, lateSlots: 3, maxPerLane: 5 });
    assert.deepEqual(lanesOf(claimed).sort(), ['new', 'new', 'new', 'new', 'new', 'old', 'old', 'old']);
  });

  test(`in a backlog every queue gets its turn, and a full lane is skipped (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    // In parts, each well within the time that a call of the store may take on a busy machine.
    for (let part = 0; part < 10; part++) {
      const due = jobs(2_000, { lane: 'dead', owner: 'a', dueAt: NOW - 1000 });
      await store.do('addJobs', { jobs: due.map((job) => ({ ...job, ref: `${part}/${job.ref}` })) });
    }
    for (const lane of ['', 'dead', 'x', 'y']) {
      await store.do('addJobs', { jobs: jobs(4, { lane, owner: 'b', dueAt: NOW }) });
    }
    const one = () => claim(store, { slots: 1, maxPerOwner: 100, cursors });
    let cursors = {};
    const seen: string[] = [];
    for (let turn = 0; turn < 6; turn++) {
      const claimed = await one();
      cursors = claimed.cursors;
      seen.push(...claimed.jobs.map(({ lane, owner }) => `${lane}/${owner}`));
    }
    assert.deepEqual(seen, ['/b', 'dead/a', 'dead/b', 'x/b', 'y/b', '/b']);
    const rest = await claim(store);
    assert.equal(lanesOf(rest).filter((lane) => lane === 'dead').length, 6);
    assert.equal(rest.jobs.length, 6 + 2 + 3 + 3);
    await claim(store);
    const times: number[] = [];
    for (let turn = 0; turn < 5; turn++) {
      const started = performance.now();
      assert.deepEqual((await claim(store)).jobs, []);
      times.push(performance.now() - started);
    }
    // Others use the machine too, but not all the time.
    const spent = Math.min(...times);
    context.diagnostic(`a claim beside 20,000 due jobs of a full lane: ${spent.toFixed(1)} ms`);
    assert.ok(spent < 250, `${spent} ms`);
  });

  test(`in a backlog a contended lane serves the longest due jobs first, whatever their owner (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    await store.do('addJobs', { jobs: jobs(600, { lane: 'dead', owner: 'z', dueAt: NOW }) });
    const owners = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const [index, owner] of owners.entries()) {
      await store.do('addJobs', { jobs: jobs(2, { lane: 'busy', owner, dueAt: NOW - index * 100 }) });
    }
    const claimed = await claim(store, { maxPerLane: 2 });
    const served = claimed.jobs.filter(({ lane }) => lane === 'busy').map(({ owner }) => owner);
    assert.deepEqual(served, ['f', 'e']);
  });

  test(`lanes with a rate give no more jobs than it allows now (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    const rates = { prefix: 'r:', lanes: { 'r:a': 3, 'r:b': 0 }, unlisted: 2 };
    const count = ({ jobs }: Claimed) =>
      Object.entries(Object.groupBy(jobs, ({ lane }) => lane)).map(([lane, all]) => `${lane} ${all?.length}`);
    for (const due of [20, 200]) {
      for (const lane of ['plain', 'r:a', 'r:b', 'r:c']) {
        for (const owner of ['x', 'y']) {
          const batch = jobs(due / 2, { lane, owner, dueAt: NOW - 1000 });
          await store.do('addJobs', { jobs: batch.map((job) => ({ ...job, ref: `${due}/${job.ref}` })) });
        }
      }
      const claimed = await claim(store, { rates, maxPerLane: 8 });
      assert.deepEqual(count(claimed).sort(), ['plain 8', 'r:a 3', 'r:c 2']);
      assert.deepEqual(count(await claim(store, { rates: { ...rates, lanes: { 'r:a': 0 }, unlisted: 0 } })), []);
      for (const { id, lease } of claimed.jobs) await store.do('finish', { id, lease });
    }
  });

  test(`a claim skips the queues of full lanes (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    const rates = { prefix: 'r:', lanes: { 'r:a': 0 }, unlisted: 0 };
    for (let part = 0; part < 2; part++) {
      const due = jobs(1_000, { lane: 'r:a', dueAt: NOW - 1000 });
      const owned = due.map((job, index) => ({ ...job, ref: `${part}/${index}`, owner: `${part}/${index}` }));
      await store.do('addJobs', { jobs: owned });
      // Due jobs are read up to a limit of 500, and of the full lane one queue.
      const rows = await store.do('rowsOfClaim', claimOf({ rates }));
      assert.ok(rows <= 510, `${rows} rows beside ${1_000 * (part + 1)} queues`);
    }
  });

  test(`writes with a lost lease are rejected (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    await store.do('addJobs', { jobs: jobs(1, { dueAt: NOW }) });
    const [old] = (await claim(store)).jobs;
    const [fresh] = (await claim(store, { now: NOW + 60_000, leaseUntil: NOW + 90_000 })).jobs;
    assert.ok(old && fresh);
    const lost = { id: old.id, lease: old.lease };
    assert.equal(await store.call('renewJob', { ...lost, until: NOW + 99_000 }), false);
    assert.equal(await store.do('finish', lost), false);
    assert.equal(await store.do('reschedule', { ...lost, dueAt: 0 }), false);
    await store.call('returnJob', { ...lost, dueAt: 0, faults: 1 });
    assert.equal(await store.do('finish', { id: fresh.id, lease: fresh.lease }), true);
  });
});

function job(ref: string, dueAt: number) {
  return { kind: 'test', ref, lane: '', owner: '', dueAt };
}
