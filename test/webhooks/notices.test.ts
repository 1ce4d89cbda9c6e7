/** Notices about webhooks that were given up, the retention of notices, and what many keys have spent. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import { createExhaustionNotices, NOTICE_OWNER, noticeDelivery } from '../../src/webhooks/notice.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { openJobStore, until } from '../jobs/rig.ts';
import { forEachStore } from '../store/stores.ts';
import { startReceiver } from './receiver.ts';
import { startRig } from './rig.ts';

const AT = 1_800_000_000_000;

forEachStore((name, open) => {
  test(`a receiver whose webhooks are given up is told once an hour, and no notice about notices (${name})`, async (context) => {
    const failing = await startReceiver((response) => response.writeHead(500).end());
    context.after(failing.close);
    const clock = createManualClock(AT);
    const hours = new Map<string, number>();
    const url = failing.url('/notices');
    const make = createExhaustionNotices({ url, clock });
    const rig = await startRig(context, open, {
      clock,
      exhaustionNotice(delivery) {
        if (delivery.owner !== NOTICE_OWNER) hours.set(delivery.id, Math.floor(clock.now() / 3_600_000));
        return make(delivery);
      },
    });
    const given = async (owner: string) => {
      const { rows } = await rig.store.do('findDeliveries', { owner, limit: 10, depth: 100 });
      return rows.filter(({ state }) => state === 'exhausted').length;
    };
    for (let count = 0; count < 2; count++) await rig.owe(failing.url());
    const notices = async () =>
      (await rig.store.do('findDeliveries', { owner: NOTICE_OWNER, limit: 10, depth: 100 })).rows;
    await until(() => {
      clock.advance(10_000);
      return given('key-1').then((count) => count === 2);
    });
    const ids = (await notices()).map(({ id }) => id);
    // How long the attempts take by this clock depends on the machine.
    assert.equal(ids.length, new Set(hours.values()).size);
    await until(() => {
      clock.advance(10_000);
      return given(NOTICE_OWNER).then((count) => count > 0);
    });
    assert.equal((await notices()).length, ids.length);
    const sent = failing.received.find(({ body }) => body.includes('webhooks.exhausted'));
    const { event, id, data } = JSON.parse(String(sent?.body));
    assert.deepEqual(
      [event, ids.includes(id), data.receiver, data.key],
      ['webhooks.exhausted', true, new URL(url).host, 'key-1'],
    );
  });

  test(`the notice is there as soon as the webhook is given up, whatever ends the gateway then (${name})`, async (context) => {
    const failing = await startReceiver((response) => response.writeHead(500).end());
    context.after(failing.close);
    const clock = createManualClock(AT);
    const make = createExhaustionNotices({ url: failing.url('/notices'), clock });
    let ended = false;
    /** The gateway does nothing more after the call that gives the webhook up. */
    const through = (inner: Store): Store => ({
      ...inner,
      async call(called, parameters) {
        if (ended) throw new Error('killed');
        const result = await inner.call(called, parameters);
        if (called !== 'recordAttempt') return result;
        ended = (parameters as { result: { nextDueAt?: number } }).result.nextDueAt === undefined;
        return result;
      },
    });
    const rig = await startRig(context, open, { clock, exhaustionNotice: make, through });
    await rig.owe(failing.url());
    await until(() => {
      clock.advance(10_000);
      return ended;
    });
    const { rows } = await rig.store.do('findDeliveries', { owner: NOTICE_OWNER, limit: 10, depth: 100 });
    assert.equal(rows.length, 1);
  });

  test(`receivers are counted among the newest webhooks of a span (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    const notices = ['one', 'two', 'two', 'three'].map((host, index) => ({
      ...{ id: `task-${index}-completed`, taskId: `task-${index}`, owner: `key-${index % 2}` },
      ...{ url: `https://${host}.example/hook`, body: Buffer.from('{}'), createdAt: AT + index },
    }));
    await store.do('addNotices', { notices });
    const counts = async (asked: { from?: number; to?: number; owner?: string; depth?: number }) => {
      const { receivers, isComplete } = await store.do('receiverFigures', { depth: 10, ...asked });
      return [Object.fromEntries(receivers.map(({ host, pending }) => [host.split('.')[0], pending])), isComplete];
    };
    assert.deepEqual(await counts({}), [{ one: 1, two: 2, three: 1 }, true]);
    assert.deepEqual(await counts({ from: AT + 1, to: AT + 3 }), [{ two: 2 }, true]);
    assert.deepEqual(await counts({ from: AT + 1, owner: 'key-1' }), [{ two: 1, three: 1 }, true]);
    assert.deepEqual(await counts({ to: AT }), [{}, true]);
    assert.deepEqual(await counts({ to: AT + 3, depth: 2 }), [{ two: 2 }, false]);
  });

  test(`notices go when they are old, those that are owed stay, as do webhooks of keys (${name})`, async (context) => {
    const receiver = await startReceiver();
    context.after(receiver.close);
    const rig = await startRig(context, open);
    const now = Date.now();
    const made = ['one', 'two', 'three'].map((subject) =>
      noticeDelivery({ event: 'usage.lost', subject, url: receiver.url(), createdAt: now, data: {} }),
    );
    await rig.store.do('addNotices', { notices: [...made, ...made] });
    await rig.owe(receiver.url());
    const states = async () =>
      (await rig.store.do('findDeliveries', { limit: 10, depth: 100 })).rows.map(({ state }) => state);
    await until(async () => (await states()).every((state) => state === 'delivered'));
    assert.equal(receiver.received.length, 4);
    const later = {
      ...made[0],
      id: 'late',
      taskId: 'late',
      url: 'https://absent.example.org/',
      createdAt: now + 60_000,
    };
    await rig.store.do('addNotices', { notices: [later as (typeof made)[0]] });
    const prune = (before: number) => rig.store.do('pruneNotices', { owner: NOTICE_OWNER, before, limit: 2 });
    assert.equal(await prune(now), 0);
    assert.equal(await prune(now + 120_000), 2);
    assert.equal(await prune(now + 120_000), 1);
    assert.equal(await prune(now + 120_000), 0);
    assert.deepEqual((await states()).sort(), ['delivered', 'pending']);
  });

  test(`spending of many subjects is that of their periods (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    const starts = [
      { period: 'day', startsAt: 10 },
      { period: 'total', startsAt: 0 },
    ];
    assert.deepEqual(await store.do('spentBySubjects', { subjects: [], starts }), []);
    assert.deepEqual(await store.do('spentBySubjects', { subjects: Array.from({ length: 500 }, String), starts }), []);
  });
});
