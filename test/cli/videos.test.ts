/** The video tasks of a running gateway, seen and cancelled from the command line beside it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { progressLine } from '../../src/cli/videos.ts';
import { videoClient } from '../gateway/video-client.ts';
import { program } from './program.ts';

test('tasks are listed, shown, waited for and cancelled', async (context) => {
  const { run, start } = program(context);
  const gateway = start(['serve', '--port', '0']);
  const [, url = ''] = await gateway.shows(/listens on (http:\S+)\n/);
  const [, key = ''] = await gateway.shows(/^ +(sk-\S+)\n/m);
  const client = videoClient({ url }, key);
  const { id } = await client.create({ prompt: 'a paper boat', metadata: { a: 'b' } });
  const hanging = await client.create({ prompt: 'hang' });

  const listed = JSON.parse((await run(['videos', 'list', '--json'])).stdout);
  assert.deepEqual(
    listed.map((task: { id: string }) => task.id),
    [hanging.id, id],
  );
  const done = await run(['videos', 'show', id, '--wait', '--json']);
  assert.equal(done.code, 0, done.stderr);
  assert.equal(JSON.parse(done.stdout).status, 'completed');
  const rows = (await run(['videos', 'list', '--status', 'completed', '--model', 'sandbox/video'])).stdout;
  assert.match(rows, new RegExp(`^${id}\\tcompleted\\tsandbox/video\\t\\S+ \\S+\\t1\\t0\\ta paper boat\\n$`));
  const shown = (await run(['videos', 'show', id])).stdout;
  assert.match(shown, /^mirror_urls\thttp\S+$/m);
  assert.match(shown, /^metadata\t\{"a":"b"\}$/m);

  const cancelled = await run(['videos', 'cancel', hanging.id]);
  assert.match(cancelled.stdout, /its provider is asked to cancel it|is cancelled/, cancelled.stderr);
  const ended = await run(['videos', 'show', hanging.id, '--wait']);
  assert.deepEqual([ended.code, ended.stderr], [1, '']);
  assert.match(ended.stdout, /^status\tcancelled$/m);
  assert.equal((await run(['videos', 'cancel', hanging.id])).stdout, `The task ${hanging.id} is cancelled.\n`);

  const unknown = await run(['videos', 'show', '0b9e6c1e-0000-4000-8000-000000000000']);
  assert.deepEqual([unknown.code, unknown.stdout], [1, '']);
  assert.match(unknown.stderr, /There is no video task/);
  gateway.signal('SIGTERM');
  await gateway.ended;
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
