/** The video tasks of a running gateway, seen and cancelled from the command line beside it. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { progressLine } from '../../src/cli/videos.ts';
import { startTestGateway } from '../gateway/harness.ts';
import { createVideoClock, eventually, videoClient } from '../gateway/video-client.ts';
import { type Outcome, program } from './program.ts';

test('tasks are listed, shown, waited for and cancelled', async (context) => {
  const { run, folder } = program(context);
  const gateway = await startTestGateway('', { clock: createVideoClock() });
  context.after(() => gateway.close());
  writeFileSync(join(folder, 'polygate.yaml'), `data: ${JSON.stringify(gateway.folder)}\n`);
  const client = videoClient(gateway);
  /** The outcome of a command that waits for a task. */
  const waited = async (outcome: Promise<Outcome>) => {
    let isOver = false;
    outcome.finally(() => (isOver = true));
    await eventually(gateway, () => isOver);
    return outcome;
  };
  const { id } = await client.create({ prompt: 'a paper boat', metadata: { a: 'b' } });
  gateway.clock?.advance(1);
  const hanging = await client.create({ prompt: 'hang' });

  const listed = JSON.parse((await run(['videos', 'list', '--json'])).stdout);
  assert.deepEqual(
    listed.map((task: { id: string }) => task.id),
    [hanging.id, id],
  );
  const done = await waited(run(['videos', 'show', id, '--wait', '--json']));
  assert.equal(done.code, 0, done.stderr);
  assert.equal(JSON.parse(done.stdout).status, 'completed');
  const rows = (await run(['videos', 'list', '--status', 'completed', '--model', 'sandbox/video'])).stdout;
  assert.match(rows, new RegExp(`^${id}\\tcompleted\\tsandbox/video\\t\\S+ \\S+\\t1\\t0\\ta paper boat\\n$`));
  const shown = (await run(['videos', 'show', id])).stdout;
  assert.match(shown, /^mirror_urls\thttp\S+$/m);
  assert.match(shown, /^metadata\t\{"a":"b"\}$/m);
  // What a client says gives no orders to the terminal of an operator, and adds no row.
  const { id: colored } = await client.create({ prompt: '\u001b[31mhang\u0007\nstatus\tfailed' });
  assert.match((await run(['videos', 'show', colored])).stdout, /^prompt\t\?\[31mhang\? status failed$/m);

  const cancelled = await run(['videos', 'cancel', hanging.id]);
  assert.match(cancelled.stdout, /its provider is asked to cancel it|is cancelled/, cancelled.stderr);
  const ended = await waited(run(['videos', 'show', hanging.id, '--wait']));
  assert.deepEqual([ended.code, ended.stderr], [1, '']);
  assert.match(ended.stdout, /^status\tcancelled$/m);
  assert.equal((await run(['videos', 'cancel', hanging.id])).stdout, `The task ${hanging.id} is cancelled.\n`);

  const unknown = await run(['videos', 'show', '0b9e6c1e-0000-4000-8000-000000000000']);
  assert.deepEqual([unknown.code, unknown.stdout], [1, '']);
  assert.match(unknown.stderr, /There is no video task/);
});

test('invalid options are refused with a message', { concurrency: true }, async (context) => {
  const { run } = program(context);
  const [limit, status] = await Promise.all([
    run(['videos', 'list', '--limit', '0']),
    run(['videos', 'list', '--status', 'done']),
  ]);
  assert.match(limit.stderr, /from 1 to 9999/);
  assert.match(status.stderr, /queued, in_progress/);
});

test('progress is a bar as far as it is known', () => {
  assert.equal(progressLine({ status: 'queued' }), 'queued');
  assert.equal(
    progressLine({ status: 'in_progress', progress: 50 }),
    `in_progress [${'#'.repeat(15)}${'.'.repeat(15)}] 50%`,
  );
});
