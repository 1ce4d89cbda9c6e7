/** Cancelling, mirroring and clearing away. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import { GatewayError } from '../../src/core/errors.ts';
import { serveContent } from '../../src/http/videos/content.ts';
import type { MirroredFile } from '../../src/records/video-task.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { finalize } from '../../src/videos/finalize.ts';
import type { OpenContent } from '../../src/videos/mirror/content.ts';
import type { AssetSource, Mirror } from '../../src/videos/mirror.ts';
import { encodeTask } from '../../src/videos/task-object.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { createRig, HOUR, MINUTE, OWNER, object, openVideoStore, type Rig, SECOND } from './rig.ts';
import { completed, says, scriptedApi } from './scripted.ts';

const running = says({ type: 'running' });
const uncancellable = { ...scriptedApi, cancel: undefined };

test('a task that was not submitted is cancelled at once and never submitted', async (context) => {
  const rig = await createRig(context);
  const { id } = await rig.create();
  const task = await rig.videos.cancel(OWNER, id, { abandon: false });
  assert.equal(task.status, 'cancelled');
  assert.deepEqual(encodeTask(task, object).usage, { video_seconds: 0, video_cost: '0', cost: 0 });
  assert.equal((await rig.store.do('deliveriesOf', { taskId: id }))[0]?.id, `${id}-cancelled`);
  rig.clock.advance(HOUR);
  await rig.work();
  assert.equal(rig.upstream.posts, 0);
});

test('a cancellation is sent to the upstream, whose status settles the task', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = () => (rig.upstream.cancels > 0 ? says({ type: 'cancelled', cost: '0.2' }) : running);
  const { id } = await rig.create();
  await rig.until(() => rig.upstream.polls === 1);
  const asked = await rig.videos.cancel(OWNER, id, { abandon: false });
  assert.equal(encodeTask(asked, object).cancel_requested, true);
  assert.equal(asked.status, 'in_progress');
  await rig.work();
  const task = await rig.get(id);
  assert.equal(task.status, 'cancelled');
  assert.equal(task.cost, 200_000_000_000n);
  assert.deepEqual(await rig.videos.cancel(OWNER, id, { abandon: false }), task);
  assert.equal(rig.upstream.cancels, 1);
});

test('a task cancelled too late is completed', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = () => (rig.upstream.cancels > 0 ? completed() : running);
  rig.upstream.onCancel = () => says({ type: 'too-late' });
  const { id } = await rig.create();
  await rig.until(() => rig.upstream.polls === 1);
  await rig.videos.cancel(OWNER, id, { abandon: false });
  assert.equal((await rig.ended(id)).status, 'completed');
  assert.equal(rig.upstream.cancels, 1);
});

test('a cancellation without a response is sent again', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = () => (rig.upstream.cancels > 2 ? says({ type: 'cancelled' }) : running);
  rig.upstream.onCancel = () => (rig.upstream.cancels < 3 ? { status: 500 } : says({ type: 'accepted' }));
  const { id } = await rig.create();
  await rig.until(() => rig.upstream.polls === 1);
  await rig.videos.cancel(OWNER, id, { abandon: false });
  assert.equal((await rig.ended(id)).status, 'cancelled');
  assert.equal(rig.upstream.cancels, 3);
});

for (const [call, busy] of Object.entries({
  poll: { onPoll: () => ({ ...(running as object), after: 200, headers: { 'retry-after': '3600' } }) },
  'failing poll': { onPoll: () => ({ status: 503, after: 200, headers: { 'retry-after': '3600' } }) },
})) {
  test(`a cancellation that is asked for during a ${call} is sent right after it`, async (context) => {
    const rig = await createRig(context);
    rig.upstream.onPoll = busy.onPoll;
    const { id } = await rig.create();
    await rig.work();
    rig.clock.advance(10 * SECOND);
    const working = rig.work();
    while (rig.upstream.polls === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    await rig.videos.cancel(OWNER, id, { abandon: false });
    await working;
    await rig.work();
    assert.equal(rig.upstream.cancels, 1);
  });
}

test('a task that cannot be cancelled gets 409, or is abandoned and charged', async (context) => {
  const rig = await createRig(context, { video: uncancellable });
  rig.upstream.onPoll = (before) => (before < 3 ? running : completed({ cost: '9' }));
  const { id } = await rig.create();
  await rig.until(() => rig.upstream.polls === 1);
  await assert.rejects(rig.videos.cancel(OWNER, id, { abandon: false }), { code: 'cancel_not_possible' });
  assert.equal((await rig.get(id)).cancelRequested, false);
  const task = await rig.videos.cancel(OWNER, id, { abandon: true });
  assert.deepEqual([task.status, task.error?.code], ['cancelled', 'abandoned']);
  await rig.until(async () => {
    const entry = await rig.store.do('readVideoLedger', { taskId: id });
    return entry?.cost === 9_000_000_000_000n;
  }, MINUTE);
  assert.deepEqual(await rig.get(id), task);
  assert.equal((await rig.store.do('deliveriesOf', { taskId: id })).length, 1);
});

/** No task is asked for its cost any more. */
async function isReconciled({ store, clock }: Rig): Promise<boolean> {
  const { waiting, held } = await store.do('countJobs', { kind: 'video-booking', now: clock.now() });
  return waiting + held === 0;
}

for (const [reports, empty, cost] of [
  ['reports no cost', {}, 0n],
  ['reports a cost', { cost: '2' }, 2_000_000_000_000n],
] as const) {
  test(`a task that completes without a video after its end here costs what its upstream ${reports}`, async (context) => {
    const rig = await createRig(context, { video: uncancellable });
    rig.upstream.onPoll = (before) => (before < 1 ? running : says({ type: 'completed', assets: [], ...empty }));
    const { id } = await rig.create();
    await rig.until(() => rig.upstream.polls === 1);
    await rig.videos.cancel(OWNER, id, { abandon: true });
    await rig.until(() => isReconciled(rig), MINUTE);
    assert.equal((await rig.store.do('readVideoLedger', { taskId: id }))?.cost, cost);
    assert.ok(rig.upstream.polls <= 61);
  });
}

test('a completion without a video that gets one later is charged for it, also after the end of the task here', async (context) => {
  const rig = await createRig(context, { video: uncancellable });
  const answers = [running, says({ type: 'completed', assets: [] })];
  rig.upstream.onPoll = (before) => answers[before] ?? completed({ cost: undefined });
  const { id } = await rig.create();
  await rig.until(() => rig.upstream.polls === 1);
  await rig.videos.cancel(OWNER, id, { abandon: true });
  await rig.until(() => isReconciled(rig), MINUTE);
  const { cost, source } = (await rig.store.do('readVideoLedger', { taskId: id })) ?? {};
  assert.deepEqual([cost, source], [4_000_000_000_000n, 'catalog']);
});

test('the cost of a task accepted after it was abandoned is reconciled', async (context) => {
  const rig = await createRig(context, { video: uncancellable });
  const { id } = await rig.create();
  rig.upstream.onSubmit = (take) => ({ json: { type: 'accepted', ref: { id: take().id } }, after: 200 });
  rig.upstream.onPoll = () => completed({ cost: '2' });
  const working = rig.work();
  while (rig.upstream.posts === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  assert.equal((await rig.videos.cancel(OWNER, id, { abandon: true })).status, 'cancelled');
  await working;
  assert.deepEqual(await rig.store.do('attemptStates', { taskId: id }), ['accepted']);
  await rig.until(async () => (await rig.store.do('readVideoLedger', { taskId: id }))?.source === 'upstream', MINUTE);
});

const kept: MirroredFile = { file: 'local:0.mp4', sha256: 'ab', bytes: 3, mime: 'video/mp4', seconds: 7.6 };

interface TestMirror extends Mirror {
  sources: AssetSource[];
  erased: string[];
  /** Files that are gone. */
  lost: Set<string>;
}

/** Behaves as told at each try; what is left over is kept. */
function mirrorOf(...tries: (() => MirroredFile | undefined)[]): TestMirror {
  const sources: AssetSource[] = [];
  const erased: string[] = [];
  const lost = new Set<string>();
  return {
    ...{ sources, erased, lost },
    has: async ({ file }) => !lost.has(file),
    async save(_task, index, source) {
      sources.push(source);
      return tries.length > 0 ? tries.shift()?.() : { ...kept, file: `${index}.mp4` };
    },
    async erase({ id }) {
      erased.push(id);
    },
  };
}

function broken(upstreamStatus?: number): () => never {
  return () => {
    throw new GatewayError('upstream_error', 'broken', { upstreamStatus });
  };
}

test('a task completes once its videos are mirrored, and is charged by their duration without a reported cost', async (context) => {
  const mirror = mirrorOf(broken(), broken());
  const rig = await createRig(context, { mirror });
  rig.upstream.onPoll = () => completed({ seconds: undefined, cost: undefined });
  const { id } = await rig.create();
  await rig.until(() => mirror.sources.length === 1);
  const waiting = encodeTask(await rig.get(id), object);
  assert.deepEqual([waiting.status, waiting.unsigned_urls], ['in_progress', []]);
  const body = encodeTask(await rig.ended(id), object);
  assert.deepEqual(body.mirror_urls, ['https://gw.example/0.mp4']);
  assert.deepEqual(body.usage, { video_seconds: 8, video_cost: '4', cost: 4 });
  assert.equal(body.expires_at, body.completed_at + 7 * 24 * 3600);
  assert.equal(mirror.sources.length, 3);
  assert.equal(rig.upstream.polls, 1);
});

test('a task completes without copies after five failed mirror tries', async (context) => {
  const mirror = mirrorOf(broken(), broken(), broken(), broken(), broken());
  const rig = await createRig(context, { mirror });
  const task = await rig.ended((await rig.create()).id);
  const body = encodeTask(task, object);
  assert.deepEqual(
    [body.status, body.mirror_urls, body.unsigned_urls, body.expires_at],
    ['completed', [], ['https://cdn.example.com/0.mp4'], undefined],
  );
  assert.ok((task.settledAt ?? 0) - task.createdAt < 15 * MINUTE);
  assert.equal(mirror.sources.length, 5);
});

for (const isThere of [true, false]) {
  const end = isThere ? 'is mirrored again' : 'that the provider has no more leaves no address of the copy';
  test(`a video whose copy is lost before the task ends ${end}`, async (context) => {
    const copy = (index: number) => () => ({ ...kept, file: `${index}.mp4` });
    const mirror = mirrorOf(copy(0), broken(), isThere ? copy(2) : () => undefined);
    const rig = await createRig(context, { mirror });
    rig.upstream.onPoll = () => completed({ assets: [{ url: 'https://cdn/a.mp4' }, { url: 'https://cdn/b.mp4' }] });
    const { id } = await rig.create();
    await rig.until(() => mirror.sources.length === 2);
    // As after a restore of a backup without media.
    mirror.lost.add('0.mp4');
    const body = encodeTask(await rig.ended(id), object);
    assert.deepEqual(
      mirror.sources.map((source) => 'url' in source && source.url),
      ['https://cdn/a.mp4', 'https://cdn/b.mp4', 'https://cdn/a.mp4', 'https://cdn/b.mp4'],
    );
    assert.deepEqual(
      body.mirror_urls,
      [...(isThere ? ['2.mp4'] : []), '1.mp4'].map((file) => `https://gw.example/${file}`),
    );
  });
}

test('a task whose video cannot be mirrored completes at once', async (context) => {
  const mirror = mirrorOf(() => undefined);
  const rig = await createRig(context, { mirror });
  assert.equal((await rig.ended((await rig.create()).id)).status, 'completed');
  assert.equal(mirror.sources.length, 1);
});

test('an expired URL is refreshed', async (context) => {
  const mirror = mirrorOf(broken(403));
  const rig = await createRig(context, { mirror });
  rig.upstream.onPoll = (before) => completed({ assets: [{ url: `https://cdn.example.com/${before}.mp4` }] });
  const task = await rig.ended((await rig.create()).id);
  assert.deepEqual(
    mirror.sources.map((source) => 'url' in source && source.url),
    ['https://cdn.example.com/0.mp4', 'https://cdn.example.com/1.mp4'],
  );
  assert.deepEqual(encodeTask(task, object).unsigned_urls, ['https://cdn.example.com/1.mp4']);
});

test('inline videos are mirrored at once, and queried again after a failure', async (context) => {
  const mirror = mirrorOf(broken());
  const rig = await createRig(context, { mirror });
  rig.upstream.onPoll = () => completed({ assets: [{ data: 'AAAA', mime: 'video/mp4' }] });
  const task = await rig.ended((await rig.create()).id);
  assert.deepEqual(mirror.sources, Array(2).fill({ type: 'data', data: 'AAAA', mime: 'video/mp4' }));
  assert.equal(JSON.stringify(task.assets).includes('AAAA'), false);
  assert.deepEqual(encodeTask(task, object).unsigned_urls, [`https://gw.example/v1/videos/${task.id}/content?index=0`]);
});

test('a video below the base URL is fetched with the credential of its task, and shown under the URL of the gateway', async (context) => {
  const mirror = mirrorOf();
  const rig = await createRig(context, { mirror });
  rig.upstream.onPoll = () => completed({ assets: [{ path: '/media/0' }, { path: '/media/1' }] });
  const task = await rig.ended((await rig.create()).id);
  const [first] = mirror.sources;
  assert.ok(first?.type === 'path');
  assert.equal(first.url, `${rig.upstream.url}/media/0`);
  assert.equal(first.headers.authorization, 'one');
  const base = `https://gw.example/v1/videos/${task.id}/content`;
  assert.deepEqual(encodeTask(task, object).unsigned_urls, [`${base}?index=0`, `${base}?index=1`]);
  const source = await rig.videos.source(task, 1, { signal: new AbortController().signal });
  assert.equal(source?.type === 'path' && source.url, `${rig.upstream.url}/media/1`);
});

test('the content of a video without a copy is asked for at a new URL when the old one has expired', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = (before) => completed({ assets: [{ url: `https://cdn.example.com/${before}.mp4` }] });
  const { id } = await rig.ended((await rig.create()).id);
  const sources: (AssetSource | undefined)[] = [];
  const openContent: OpenContent = async (content) => {
    if (content.type === 'upstream') sources.push(content.source, await content.refresh?.());
    return { status: 200, headers: {} };
  };
  const request = { method: 'GET', headers: {} };
  const http = { query: new URLSearchParams(), request, response: { on() {} }, send() {} };
  const ask = () =>
    serveContent(http as never, { owner: OWNER, id }, { videos: rig.videos, clock: rig.clock, openContent } as never);
  await ask();
  assert.deepEqual(
    sources.map((source) => source?.type === 'url' && source.url),
    ['https://cdn.example.com/0.mp4', 'https://cdn.example.com/1.mp4'],
  );
  rig.upstream.onPoll = () => ({ status: 404 });
  rig.clock.advance(MINUTE);
  await ask();
  assert.equal(sources.at(-1), undefined);
});

test('a video that came as base64 is queried once a minute for all of its downloads', async (context) => {
  const rig = await createRig(context, { maxRecentBytes: 4_000 });
  const video = Buffer.from('a video');
  rig.upstream.onPoll = () => completed({ assets: [{ data: video.toString('base64') }] });
  const { id } = await rig.ended((await rig.create()).id);
  const before = rig.upstream.polls;
  const download = async (signal = new AbortController().signal, task = id) => {
    const source = await rig.videos.source(await rig.get(task), 0, { signal });
    return source?.type === 'data' ? source.data : undefined;
  };
  const answer = Promise.withResolvers<void>();
  rig.upstream.onPoll = () => ({
    ...(completed({ assets: [{ data: video.toString('base64') }] }) as object),
    until: answer.promise,
  });
  const gone = new AbortController();
  const left = assert.rejects(download(gone.signal), /gone/);
  const others = Promise.all(Array.from({ length: 5 }, () => download()));
  while (rig.upstream.polls === before) await delay(1);
  gone.abort(new Error('gone'));
  await left;
  answer.resolve();
  for (const data of await others) assert.deepEqual(data, video);
  assert.deepEqual(await download(), video);
  assert.equal(rig.upstream.polls, before + 1, 'also for the client that left');

  rig.upstream.onPoll = () => ({ status: 500 });
  rig.clock.advance(MINUTE);
  assert.deepEqual([await download(), await download()], [undefined, undefined]);
  assert.equal(rig.upstream.polls, before + 2, 'a failure is not asked for again at once');
  rig.clock.advance(5 * SECOND);
  rig.upstream.onPoll = () => completed({ assets: [{ data: video.toString('base64') }] });
  assert.deepEqual(await download(), video);
  assert.equal(rig.upstream.polls, before + 3);

  const tasks = await Promise.all([1, 2, 3].map(async () => (await rig.ended((await rig.create()).id)).id));
  const polls = rig.upstream.polls;
  for (const task of tasks) await download(undefined, task);
  assert.equal(rig.upstream.polls, polls + 3);
  for (const task of tasks.slice(1)) await download(undefined, task);
  assert.equal(rig.upstream.polls, polls + 3);
  await download();
  assert.equal(rig.upstream.polls, polls + 4, 'what is kept has a bound of memory');
});

test('clients that ask for many videos and leave have 16 of them queried at once', async (context) => {
  const rig = await createRig(context);
  const data = Buffer.from('a video').toString('base64');
  rig.upstream.onPoll = () => completed({ assets: [{ data }] });
  const tasks = await Promise.all(
    Array.from({ length: 20 }, async () => rig.get((await rig.ended((await rig.create()).id)).id)),
  );
  const answers = Promise.withResolvers<void>();
  rig.upstream.onPoll = () => ({ ...(completed({ assets: [{ data }] }) as object), until: answers.promise });
  const before = rig.upstream.polls;
  const client = new AbortController();
  const left = tasks.map((task) => assert.rejects(rig.videos.source(task, 0, { signal: client.signal }), /gone/));
  while (rig.upstream.polls < before + 16) await delay(1);
  client.abort(new Error('gone'));
  await Promise.all(left);
  await delay(50);
  assert.equal(rig.upstream.polls, before + 16);
  answers.resolve();
  await delay(50);
  assert.equal(rig.upstream.polls, before + 16, 'those that waited are given up');
  const sources = await Promise.all(
    tasks.map((task) => rig.videos.source(task, 0, { signal: new AbortController().signal })),
  );
  assert.ok(sources.every((source) => source?.type === 'data'));
  assert.equal(rig.upstream.polls, before + 20);
});

test('a task that ends while the store is away has the time at which its end is stored, so that the feed has its webhook', async (context) => {
  const store = await openVideoStore(context);
  const real = store.call;
  let away = true;
  let refused = 0;
  store.call = async (operation, parameters) => {
    if (away && operation === 'saveVideo' && 'settlement' in (parameters as object)) {
      refused += 1;
      throw new StoreUnavailable('away');
    }
    return real(operation, parameters);
  };
  const rig = await createRig(context, { store });
  const { id } = await rig.create();
  await rig.work();
  rig.clock.advance(10 * SECOND);
  const ended = rig.work();
  const restoredAt = rig.clock.now() + MINUTE;
  while (refused === 0 || rig.clock.now() < restoredAt) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    if (refused > 0) rig.clock.advance(5 * SECOND);
  }
  away = false;
  let isOver = false;
  ended.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    rig.clock.advance(5 * SECOND);
  }
  const { status, settledAt = 0 } = await rig.get(id);
  assert.equal(status, 'completed');
  assert.ok(settledAt >= restoredAt);
  const place = { after: { at: restoredAt - 1, id: '' }, until: rig.clock.now(), limit: 20 };
  const feed = await real('deliveriesAfter', { owner: OWNER, ...place });
  assert.deepEqual(
    feed.map((delivery) => delivery.createdAt),
    [settledAt],
  );
});

test('deleting a task deletes its media but not its pending webhook', async (context) => {
  const mirror = mirrorOf();
  const rig = await createRig(context, { mirror });
  const { id } = await rig.create({ metadata: { place: 'garden' }, user: 'gardener' });
  await assert.rejects(rig.videos.remove(OWNER, id), { code: 'video_not_terminal' });
  await rig.ended(id);
  await rig.videos.remove(OWNER, id);
  await assert.rejects(rig.videos.get(OWNER, id), { code: 'video_not_found' });
  const left = inspect(await rig.store.call('loadVideo', { id }));
  assert.equal(/a quiet lake|garden|gardener/.test(left), false, left);
  await assert.rejects(rig.videos.remove(OWNER, id), { code: 'video_not_found' });
  assert.deepEqual((await rig.videos.list(OWNER, { limit: 10, order: 'desc' })).tasks, []);
  assert.deepEqual(mirror.erased, [id]);
  assert.equal((await rig.store.do('deliveriesOf', { taskId: id })).length, 1);
});

test('media that cannot be deleted do not block the deletion of others', async (context) => {
  const mirror = mirrorOf();
  const erase = mirror.erase;
  const rig = await createRig(context, { mirror });
  const [stuck, other] = [await rig.ended((await rig.create()).id), await rig.ended((await rig.create()).id)];
  mirror.erase = (task, all) => (task.id === stuck.id ? Promise.reject(new Error('locked')) : erase(task, all));
  await rig.videos.start();
  rig.clock.advance(8 * 24 * HOUR);
  await rig.work();
  assert.deepEqual(mirror.erased, [other.id]);
  rig.clock.advance(90 * 24 * HOUR);
  await rig.work();
  await assert.rejects(rig.get(other.id), { code: 'video_not_found' });
  mirror.erase = erase;
  rig.clock.advance(HOUR);
  await rig.work();
  await assert.rejects(rig.get(stuck.id), { code: 'video_not_found' });
});

test('media are deleted after a week, records after three months, the ledger never', async (context) => {
  const mirror = mirrorOf();
  const rig = await createRig(context, { mirror });
  const { id } = await rig.create({}, { idempotencyKey: 'one' });
  await rig.ended(id);
  await rig.videos.start();
  rig.clock.advance(6 * 24 * HOUR);
  await rig.work();
  assert.equal(mirror.erased.length, 0);
  assert.equal(await rig.store.do('countRows', { table: 'idempotency' }), 0);
  rig.clock.advance(2 * 24 * HOUR);
  await rig.work();
  assert.deepEqual(mirror.erased, [id]);
  const body = encodeTask(await rig.get(id), object);
  assert.deepEqual([body.mirror_urls, body.expires_at, body.status], [[], undefined, 'completed']);
  rig.clock.advance(90 * 24 * HOUR);
  await rig.work();
  await assert.rejects(rig.get(id), { code: 'video_not_found' });
  for (const [table, rows] of [
    ['video_task', 0],
    ['video_attempt', 0],
    ['video_ledger', 1],
    ['delivery', 0],
  ] as const) {
    assert.equal(await rig.store.do('countRows', { table }), rows, table);
  }
});

test('mirroring ends after fifteen minutes, and every video gets a try', async (context) => {
  const rig = await createRig(context, {
    mirror: {
      ...mirrorOf(),
      save: (_task, index, _source, signal) =>
        index === 1
          ? Promise.resolve({ ...kept, file: '1.mp4' })
          : new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    },
  });
  rig.upstream.onPoll = () =>
    completed({ assets: ['a', 'b'].map((name) => ({ url: `https://cdn.example.com/${name}` })) });
  const { id } = await rig.create();
  await rig.work();
  rig.clock.advance(10 * SECOND);
  const work = rig.work();
  while ((await rig.store.call('loadVideo', { id }))?.task.phase !== 'finalizing') await rest();
  rig.clock.advance(15 * MINUTE - 1);
  await rest();
  assert.equal((await rig.get(id)).status, 'in_progress');
  rig.clock.advance(1);
  await work;
  const body = encodeTask(await rig.get(id), object);
  assert.deepEqual([body.status, body.mirror_urls.length, body.unsigned_urls.length], ['completed', 1, 2]);
});

test('mirroring ends after another fifteen minutes where the clock was set back by years before', async (context) => {
  const tries: AbortSignal[] = [];
  const save: Mirror['save'] = (_task, _index, _source, signal) => {
    if (tries.push(signal) === 1) throw new GatewayError('upstream_error', 'not now');
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };
  const rig = await createRig(context, { mirror: { ...mirrorOf(), save } });
  await rig.create();
  await rig.until(() => tries.length === 1);
  await rig.setBack(HOUR);
  rig.clock.advance(10 * SECOND);
  const work = rig.work();
  while (tries.length < 2) await rest();
  assert.equal(tries[1]?.aborted, false);
  rig.clock.advance(15 * MINUTE);
  assert.equal(tries[1]?.aborted, true);
  await work;
});

test('a task waiting for its mirror can be abandoned but not cancelled', async (context) => {
  const mirror = mirrorOf(broken(), broken());
  const rig = await createRig(context, { mirror });
  const { id } = await rig.create();
  await rig.until(() => mirror.sources.length === 1);
  const cancel = (abandon: boolean) => rig.videos.cancel(OWNER, id, { abandon });
  await assert.rejects(cancel(false), { code: 'cancel_not_possible', message: /has finished it/ });
  assert.equal((await rig.get(id)).cancelRequested, false);
  const task = await cancel(true);
  assert.deepEqual([task.status, task.error?.code, task.cost], ['cancelled', 'abandoned', 3_200_000_000_000n]);
  assert.equal(rig.upstream.cancels, 0);
});

const rest = () => new Promise((resolve) => setTimeout(resolve, 5));

test('a task missing after an accepted cancellation is cancelled', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = () => (rig.upstream.cancels > 0 ? { status: 404 } : running);
  const { id } = await rig.create();
  await rig.until(() => rig.upstream.polls === 1);
  await rig.videos.cancel(OWNER, id, { abandon: false });
  await rig.work();
  const task = await rig.get(id);
  assert.deepEqual([task.status, task.error?.code], ['cancelled', 'cancelled']);
});

test('a task missing after a cancellation without a response is cancelled, but not after a refused one', async (context) => {
  for (const [reply, expected] of [
    [{ status: 404 }, 'cancelled'],
    [says({ type: 'too-late' }), 'upstream_task_lost'],
  ] as const) {
    const rig = await createRig(context);
    rig.upstream.onPoll = () => (rig.upstream.cancels > 0 ? { status: 404 } : running);
    rig.upstream.onCancel = () => reply;
    const { id } = await rig.create();
    await rig.until(() => rig.upstream.polls === 1);
    await rig.videos.cancel(OWNER, id, { abandon: false });
    assert.equal((await rig.ended(id)).error?.code, expected);
  }
});

test('a finalization that fails leaves no timer', async () => {
  const clock = createManualClock(0);
  let timers = 0;
  const after: typeof clock.after = (milliseconds, callback) => {
    timers += 1;
    const cancel = clock.after(milliseconds, callback);
    return () => {
      timers -= 1;
      cancel();
    };
  };
  const asset = { source: { url: 'https://example.com/v.mp4' }, kept: { file: 'local:gone' } };
  const step = {
    context: {
      mirror: { has: async () => false },
      clock: { ...clock, after },
      store: { call: async () => Promise.reject(new Error('the lease is lost')) },
    },
    job: { ref: 'task' },
    loaded: { task: { memory: {}, assets: [asset] }, attempt: {} },
    signal: new AbortController().signal,
  };
  await assert.rejects(finalize(step as never), /the lease is lost/);
  assert.equal(timers, 0);
});
