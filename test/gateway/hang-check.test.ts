/** Check whether a worker hangs: over a channel whose other side is slow, suspended or gone. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { type Channel, createChannel } from '../../src/gateway/workers/channel.ts';
import { startHangCheck } from '../../src/gateway/workers/hang-check.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { createManualClock } from '../jobs/manual-clock.ts';

const SECOND = 1_000;

/** A worker behind a channel; while it is frozen, its answers wait. */
function startRig() {
  const clock = createManualClock(Date.now());
  const events: string[] = [];
  let isFrozen = false;
  const late: (() => void)[] = [];
  const near: Channel = createChannel((message) => far.receive(structuredClone(message)), {});
  const far: Channel = createChannel(
    (message) => {
      const deliver = () => near.receive(structuredClone(message));
      if (isFrozen) late.push(deliver);
      else deliver();
    },
    { ping: () => undefined },
  );
  const hangCheck = startHangCheck({
    ask: () => near.call('ping', {}),
    onSilent: () => events.push('silent'),
    onAnswer: () => events.push('answers'),
    onHung: () => events.push('hung'),
    clock,
  });
  /** The turns of a message there and back. */
  const settle = async () => {
    for (let count = 0; count < 6; count++) await turn();
  };
  return {
    ...{ clock, events, hangCheck, near },
    freeze() {
      isFrozen = true;
    },
    async thaw() {
      isFrozen = false;
      for (const deliver of late.splice(0)) deliver();
      await settle();
    },
    async pass(seconds: number) {
      for (let count = 0; count < seconds; count++) {
        clock.advance(SECOND);
        await settle();
      }
    },
  };
}

test('a worker that answers is neither silent nor hung', async () => {
  const { events, hangCheck, pass } = startRig();
  await pass(300);
  assert.deepEqual(events, []);
  assert.equal(hangCheck.isSilent, false);
  hangCheck.close();
});

test('a worker that does not answer is silent within ten seconds, and hung after a minute, once', async () => {
  const { events, freeze, hangCheck, pass } = startRig();
  freeze();
  await pass(4);
  assert.equal(hangCheck.isSilent, false);
  await pass(6);
  assert.deepEqual([events, hangCheck.isSilent], [['silent'], true]);
  await pass(50);
  assert.deepEqual(events, ['silent']);
  await pass(10);
  assert.deepEqual(events, ['silent', 'hung']);
  await pass(600);
  assert.deepEqual(events, ['silent', 'hung']);
  hangCheck.close();
});

test('a worker that answers again has its whole minute anew', async () => {
  const { events, freeze, hangCheck, pass, thaw } = startRig();
  for (let round = 0; round < 3; round++) {
    freeze();
    await pass(50);
    await thaw();
    assert.equal(hangCheck.isSilent, false);
    await pass(20);
  }
  assert.deepEqual(events, ['silent', 'answers', 'silent', 'answers', 'silent', 'answers']);
  hangCheck.close();
});

test('a worker that is gone is asked no more', async () => {
  const { events, hangCheck, near, pass } = startRig();
  near.close(new StoreUnavailable('the worker ended'));
  hangCheck.close();
  await pass(120);
  assert.deepEqual(events, []);
});
