/** An idle gateway: it asks its store a few times a second, and writes nothing but its heartbeat. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import { createActivity, passing } from '../jobs/activity.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { startTestGateway } from './harness.ts';

const WINDOW_SECONDS = 30;
/** What is set up, claimed and cleaned once after a start. */
const START_MS = 5_000;
/** Reads of jobs by two schedulers, and of tags; with looks for webhooks and heartbeats each few seconds. */
const MAX_CALLS_PER_SECOND = 4;

test('an idle gateway asks its store a few times a second, and claims no jobs', async () => {
  const activity = createActivity();
  const clock = createManualClock(Date.now());
  const asked: string[] = [];
  const counted = (store: Store): Store => ({
    ...store,
    call: activity.track((name, parameters) => {
      asked.push(name);
      return store.call(name, parameters);
    }) as Store['call'],
  });
  const gateway = await startTestGateway('', { clock, wrapStore: counted });
  try {
    const pass = async (milliseconds: number) => {
      const end = clock.now() + milliseconds;
      await passing({ clock, activity, most: milliseconds + 1000 }, () => clock.now() >= end);
    };
    await pass(START_MS);
    asked.length = 0;
    await pass(WINDOW_SECONDS * 1000);
    const counts = Object.entries(Object.groupBy(asked, (name) => name)).map(([name, calls]) => [name, calls?.length]);
    const perSecond = asked.length / WINDOW_SECONDS;
    assert.ok(perSecond > 1 && perSecond <= MAX_CALLS_PER_SECOND, JSON.stringify(counts));
    assert.ok(!asked.includes('claimJobs'), 'claims write to the store');
  } finally {
    await gateway.close();
  }
});
