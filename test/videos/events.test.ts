/** Telemetry events of tasks. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRig } from './rig.ts';
import { completed, says } from './scripted.ts';

test('each status change emits one event', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = (before) => (before < 3 ? says({ type: 'running', progress: 10 * before }) : completed());
  const { id } = await rig.create();
  await rig.ended(id);
  assert.deepEqual(rig.events, ['queued', 'in_progress', 'completed']);
});

test('each unknown upstream status emits an event', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = (before) => (before < 2 ? says({ type: 'unknown', status: 'marinating' }) : completed());
  const { id } = await rig.create();
  await rig.ended(id);
  assert.equal(rig.events.filter((event) => event === 'unknown at up').length, 2);
});

test('a video that is not mirrored emits an event', async (context) => {
  const mirror = { save: async () => undefined, has: async () => true, erase: async () => {} };
  const rig = await createRig(context, { mirror });
  rig.upstream.onPoll = () => completed();
  const { id } = await rig.create();
  assert.equal((await rig.ended(id)).status, 'completed');
  assert.deepEqual(rig.events.slice(-2), ['completed', 'unmirrored']);
});
