/** Mirror after a kill during a download, and with a large file. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, test } from 'node:test';
import { makeVideo, serve, startOrigin, TASK, type TestMirror, testMirror } from './mirror-origin.ts';

const MEBIBYTE = 1024 * 1024;

let home: TestMirror;
beforeEach(() => {
  home = testMirror();
});
afterEach(() => home.close());

function start(url: string): ChildProcess & { stdout: NodeJS.ReadableStream } {
  const script = join(import.meta.dirname, 'mirror-process.ts');
  return spawn(process.execPath, [script, home.folder, url, TASK], { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function run(url: string) {
  return JSON.parse(await text(start(url).stdout));
}

test('after a kill during a download the next process resumes at the last durable checkpoint', async (t) => {
  const video = makeVideo(24 * MEBIBYTE);
  let stalls = true;
  const origin = await startOrigin((request, response) => {
    if (!stalls) return serve(video)(request, response);
    response.writeHead(200, { etag: '"v1"', 'content-length': video.length }).write(video.subarray(0, 12 * MEBIBYTE));
  });
  t.after(() => origin.close());
  const checkpoint = join(home.folder, 'videos', TASK, '0.part.json');
  const saved = () => (existsSync(checkpoint) ? JSON.parse(readFileSync(checkpoint, 'utf8')).bytes : 0);
  const doomed = start(origin.url);
  while (saved() === 0) await new Promise((later) => setTimeout(later, 10));
  doomed.kill('SIGKILL');
  await new Promise((gone) => doomed.once('exit', gone));
  const reached = saved();
  stalls = false;
  const { kept } = await run(origin.url);
  assert.equal(kept.sha256, createHash('sha256').update(video).digest('hex'));
  assert.equal(origin.seen.at(-1)?.headers.range, `bytes=${reached}-`);
  assert.deepEqual(home.files(), [kept.file.slice('local:videos/'.length), `${TASK}/0.part.kept.json`]);
});

test('memory use does not depend on the file size', async (t) => {
  const chunk = makeVideo(MEBIBYTE);
  // The first megabytes fill buffers that are kept.
  let count = 32;
  const origin = await startOrigin(async (_request, response) => {
    response.writeHead(200);
    for (let sent = 0; sent < count; sent++) {
      if (!response.write(chunk)) await new Promise((drained) => response.once('drain', drained));
    }
    response.end();
  });
  t.after(() => origin.close());
  const small = await run(origin.url);
  await home.mirror.erase({ id: TASK, owner: 'o' }, []);
  count = 256;
  const large = await run(origin.url);
  assert.equal(large.kept.bytes, 256 * MEBIBYTE);
  const growth = large.memory - small.memory;
  assert.ok(growth < 80 * MEBIBYTE, `grew by ${Math.round(growth / MEBIBYTE)} MiB`);
});
