/** A gateway is killed between any two steps of a task; the next one finds its way without making anything twice. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryData } from '../store/stores.ts';
import { SECOND } from './rig.ts';
import { startUpstream } from './scripted.ts';

const program = join(import.meta.dirname, 'machine-process.ts');

function run(...parameters: string[]): Promise<{ signal?: string; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...parameters], { timeout: 20_000 }, (error, stdout, stderr) => {
      resolve({ signal: error?.signal ?? undefined, output: stdout + (error && !error.signal ? stderr : '') });
    });
  });
}

const COST = '3200000000000';
const done = { status: 'completed', deliveries: [true], recorded: 1, cost: COST, spent: COST, held: '0' };
const unpaid = { recorded: 1, cost: '0', spent: '0', held: '0' };
const POINTS = [
  'after createVideo',
  'before sending',
  'after sending',
  'before accepted',
  'after accepted',
  'before finalizing',
  'after finalizing',
  'while mirroring',
  'before settled',
  'before readVideoUse',
  'before recordTaskUsage',
  'after recordTaskUsage',
  'before finishVideoUse',
  'after finishVideoUse',
];

for (const point of POINTS) {
  test(`killed ${point}: one upstream task, one video, one webhook, one charge`, async (context) => {
    const upstream = await startUpstream(context);
    const folder = temporaryData(context);
    assert.equal((await run(folder, upstream.url, '0', 'find', point)).signal, 'SIGKILL');
    const { output } = await run(folder, upstream.url, String(30 * SECOND), 'find');
    assert.deepEqual(JSON.parse(output), done);
    assert.equal(upstream.submissions.length, 1);
  });
}

test('killed after settlement: nothing is repeated', async (context) => {
  const upstream = await startUpstream(context);
  const folder = temporaryData(context);
  assert.equal((await run(folder, upstream.url, '0', 'find', 'after settled')).signal, 'SIGKILL');
  const { polls } = upstream;
  const { output } = await run(folder, upstream.url, String(30 * SECOND), 'find');
  assert.deepEqual(JSON.parse(output), done);
  assert.equal(upstream.polls, polls);
});

test('killed before the response was stored, without a task list: the task fails and is not submitted again', async (context) => {
  const upstream = await startUpstream(context);
  const folder = temporaryData(context);
  assert.equal((await run(folder, upstream.url, '0', 'blind', 'before accepted')).signal, 'SIGKILL');
  const { output } = await run(folder, upstream.url, String(30 * SECOND), 'blind');
  assert.deepEqual(JSON.parse(output), { status: 'failed', code: 'submit_unknown', deliveries: [true], ...unpaid });
  assert.equal(upstream.posts, 1);
});
