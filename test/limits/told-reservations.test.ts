/** What gateways tell each other of the budgets that their requests reserve. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReservationReader } from '../../src/limits/quota.ts';
import { decodeReservations, encodeReservations, type ReservedBudget } from '../../src/records/reservations.ts';
import { joinStore } from '../../src/store/instance.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { forEachStore } from '../store/stores.ts';

const log = { warn() {} };
const MONTH = { subject: 'tag:team=search', period: 'month', startsAt: Date.UTC(2026, 10) } as const;

function reservation(amount: bigint, subject: string = MONTH.subject): ReservedBudget {
  return { ...MONTH, subject, amount };
}

forEachStore((name, open) => {
  test(`others see what a gateway reserves until its heart stops, and not its own twice (${name})`, async (context) => {
    const inner = await open(context);
    const clock = createManualClock(inner.now());
    let beats = 0;
    const call = ((operation: 'heartbeat', parameters: never) =>
      inner.call(operation, parameters).finally(() => {
        if (operation === 'heartbeat') beats += 1;
      })) as typeof inner.call;
    const store = { ...inner, call, now: clock.now };
    let reserved: ReservedBudget[] = [];
    // As workers, none of which is the only process on the store.
    const one = await joinStore(store, log, { clock, role: 'worker' });
    one.reportReservations(() => encodeReservations(reserved));
    const still = { ...clock, after: () => () => {} };
    const other = await joinStore(store, log, { clock: still, role: 'worker' });
    const [seenByOther, seenByItself] = [other, one].map(({ id }) => createReservationReader({ store, instance: id }));
    const beat = async () => {
      const before = beats;
      clock.advance(5000);
      while (beats === before) await new Promise(setImmediate);
    };
    const nothing = { amount: 0n, isComplete: true };
    assert.deepEqual((await seenByOther?.())?.of(MONTH), nothing);
    reserved = [reservation(7n), reservation(5n, 'key-1')];
    await beat();
    assert.deepEqual((await seenByOther?.())?.of(MONTH), { amount: 7n, isComplete: true });
    assert.deepEqual((await seenByOther?.())?.of({ ...MONTH, startsAt: 0 }), nothing, 'another month');
    assert.deepEqual((await seenByItself?.())?.of(MONTH), nothing);
    clock.set(clock.now() + 29_999);
    assert.equal((await seenByOther?.())?.of(MONTH).amount, 7n);
    clock.set(clock.now() + 1);
    assert.deepEqual((await seenByOther?.())?.of(MONTH), nothing, 'it is gone');
    await Promise.all([one.close(), other.close()]);
  });

  test(`a gateway of a version that tells nothing may hold more (${name})`, async (context) => {
    const store = await open(context);
    const now = store.now();
    await store.call('heartbeat', { id: 'older', now, until: now + 30_000, exclusive: false });
    const reserved = await createReservationReader({ store })();
    assert.deepEqual(reserved.of(MONTH), { amount: 0n, isComplete: false });
  });
});

test('a text of a version with another form says that there may be more', () => {
  const told = decodeReservations([encodeReservations([reservation(2n)]), '{"form":2,"budgets":{}}']);
  assert.deepEqual(told.of(MONTH), { amount: 2n, isComplete: false });
});

test('of more than 1,000 budgets the largest amounts are told, and the others are known to be left out', () => {
  const all = Array.from({ length: 1001 }, (_, index) => reservation(BigInt(index + 1), `key-${index}`));
  const text = encodeReservations(all);
  assert.ok(text.length < 80_000);
  const told = decodeReservations([text, encodeReservations([reservation(2n, 'key-1')])]);
  assert.deepEqual(told.of(reservation(0n, 'key-0')), { amount: 0n, isComplete: false });
  assert.deepEqual(told.of(reservation(0n, 'key-1')), { amount: 4n, isComplete: true });
  assert.deepEqual(told.of(reservation(0n, 'key-1000')), { amount: 1001n, isComplete: true });
});
