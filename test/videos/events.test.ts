/** What telemetry hears of tasks. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRig } from './rig.ts';
import { completed, says } from './scripted.ts';

test('every status that a task comes to is told once', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = (before) => (before < 3 ? says({ type: 'running', progress: 10 * before }) : completed());
  const { id } = await rig.create();
  await rig.ended(id);
  assert.deepEqual(rig.events, ['queued', 'in_progress', 'completed']);
});

test('a status that nobody knows is told each time it is said', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = (before) => (before < 2 ? says({ type: 'unknown', status: 'marinating' }) : completed());
  const { id } = await rig.create();
  await rig.ended(id);
  assert.equal(rig.events.filter((event) => event === 'unknown at up').length, 2);
});

test('a video that the mirror does not keep is told', async (context) => {
  const mirror = { save: async () => undefined, erase: async () => {} };
  const rig = await createRig(context, { mirror });
  rig.upstream.onPoll = () => completed();
  const { id } = await rig.create();
  assert.equal((await rig.ended(id)).status, 'completed');
  assert.deepEqual(rig.events.slice(-2), ['completed', 'unmirrored']);
});
