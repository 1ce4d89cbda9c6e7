/** From the creation to the end of a task, through all that an upstream may answer on the way. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grokImagine } from '../../src/providers/videos/grok-imagine.ts';
import { encodeTask } from '../../src/videos/task-object.ts';
import { forEachStore } from '../store/stores.ts';
import { createRig, HOUR, MINUTE, model, newTask, OWNER, object, openVideoStore, SECOND, START } from './rig.ts';
import { completed, type Reply, says, scriptedApi } from './scripted.ts';

const running = says({ type: 'running' });

test('a task runs from creation to completion and creates one webhook with the task object', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = (before) =>
    [says({ type: 'queued' }), says({ type: 'running', progress: 40.7 }), completed()][before] ?? 'reset';
  const { id, status } = await rig.create({ metadata: { order: '7' } });
  assert.equal(status, 'queued');
  assert.equal(rig.upstream.posts, 0, 'creation asks no upstream');

  await rig.until(() => rig.upstream.polls === 2);
  const midway = encodeTask(await rig.get(id), object);
  assert.deepEqual(
    { status: midway.status, progress: midway.progress, usage: midway.usage, unsigned: midway.unsigned_urls },
    { status: 'in_progress', progress: 40, usage: undefined, unsigned: [] },
  );

  const task = await rig.ended(id);
  const body = encodeTask(task, object);
  assert.deepEqual(body, {
    id,
    object: 'video',
    status: 'completed',
    model: 'up/video',
    prompt: 'a quiet lake',
    unsigned_urls: ['https://cdn.example.com/0.mp4'],
    mirror_urls: [],
    usage: { video_seconds: 8, video_cost: '3.2', cost: 3.2 },
    created_at: START / 1000,
    updated_at: Math.floor((task.settledAt ?? 0) / 1000),
    polling_url: `https://gw.example/v1/videos/${id}`,
    progress: 100,
    seconds: '8',
    completed_at: Math.floor((task.settledAt ?? 0) / 1000),
    metadata: { order: '7' },
  });
  const deliveries = await rig.store.do('deliveriesOf', { taskId: id });
  const event = { event: 'video.generation.completed', id, created_at: body.completed_at, data: body };
  assert.deepEqual(
    deliveries.map((delivery) => [delivery.id, JSON.parse(delivery.body)]),
    [[`${id}-completed`, event]],
  );
  assert.ok(rig.woken.includes('webhook'));
  const { cost, seconds, source } = (await rig.store.do('readVideoLedger', { taskId: id })) ?? {};
  assert.deepEqual({ cost, seconds, source }, { cost: 3_200_000_000_000n, seconds: 8, source: 'upstream' });
  assert.equal(rig.upstream.submissions.length, 1);
  assert.equal((await rig.store.do('countJobs', { kind: 'video', now: rig.clock.now() })).waiting, 0);
});

test('of the addresses of an upstream the public ones are shown; others are those of the gateway', async (context) => {
  const rig = await createRig(context);
  const hidden = ['http://10.1.2.3:9000/0.mp4', 'http://minio.internal/0.mp4', 'http://localhost:9000/0.mp4'];
  const urls = [
    'https://cdn.example.com/0.mp4?sig=a%2Fb',
    ...hidden,
    'http://[fd00::1]/0.mp4',
    'http://media.example.com/',
  ];
  rig.upstream.onPoll = () => completed({ assets: urls.map((url) => ({ url })) });
  const task = await rig.ended((await rig.create()).id);
  const own = (index: number) => `https://gw.example/v1/videos/${task.id}/content?index=${index}`;
  const shown = [urls[0], own(1), own(2), own(3), own(4), urls[5]];
  assert.deepEqual(encodeTask(task, object).unsigned_urls, shown);
  const [delivery] = await rig.store.do('deliveriesOf', { taskId: task.id });
  assert.deepEqual(JSON.parse(delivery?.body ?? '').data.unsigned_urls, shown);
  const none = { ...object, exposeUpstreamUrls: false };
  assert.deepEqual(
    encodeTask(task, none).unsigned_urls,
    urls.map((_, index) => own(index)),
  );
});

test('without a reported cost the catalog prices apply exactly', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = () => completed({ cost: undefined, seconds: undefined });
  const task = await rig.ended((await rig.create()).id);
  assert.deepEqual(encodeTask(task, object).usage, { video_seconds: 8, video_cost: '4', cost: 4 });
});

const NOISE: Record<string, Reply[]> = {
  'errors 500': [{ status: 500, json: { error: 'no' } }],
  'rate limits': [{ status: 429, headers: { 'retry-after': '7' } }],
  'refused keys': [{ status: 401 }, { status: 403 }],
  'broken connections': ['reset'],
  'time-outs': [{ status: 408 }],
  'empty 202s': [{ status: 202 }],
  garbage: [{ raw: '<html>' }, { raw: '{"type":' }, { raw: 'null' }, { raw: '[]' }],
  'flapping between all of them': [{ status: 500 }, says({ type: 'running' }), 'reset', { raw: 'x' }, { status: 404 }],
};

for (const [name, replies] of Object.entries(NOISE)) {
  test(`20 responses in a row that are ${name} end no task`, async (context) => {
    const rig = await createRig(context);
    rig.upstream.onPoll = (before) => (before < 20 ? (replies[before % replies.length] as Reply) : completed());
    const { id } = await rig.create();
    assert.equal((await rig.ended(id, 30 * SECOND)).status, 'completed');
    assert.equal(rig.upstream.submissions.length, 1);
    assert.ok(rig.upstream.polls >= 21);
  });
}

test('a refusal of what was made ends the task, also with the status of a refused key', async (context) => {
  const rig = await createRig(context, { video: { ...scriptedApi, poll: grokImagine.poll } });
  const error = 'Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO';
  const blocked = 'Your team is blocked for violations of the usage guidelines.';
  rig.upstream.onPoll = (before) => ({ status: 403, json: { error: before < 3 ? blocked : error } });
  const { id } = await rig.create();
  await rig.until(() => rig.upstream.polls === 3);
  assert.equal((await rig.get(id)).status, 'queued', 'a key that is refused says nothing about the task');
  const task = await rig.ended(id);
  assert.deepEqual([task.status, task.error], ['failed', { code: 'content_policy_violation', message: error }]);
  assert.equal(rig.upstream.polls, 4);
});

test('an unknown upstream status counts as in_progress', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = (before) => (before < 5 ? says({ type: 'unknown', status: 'marinating' }) : completed());
  const { id } = await rig.create();
  await rig.until(() => rig.upstream.polls === 3);
  assert.equal((await rig.get(id)).status, 'in_progress');
  assert.equal((await rig.ended(id)).status, 'completed');
});

test('in progress never becomes queued again, and progress never goes back', async (context) => {
  const rig = await createRig(context);
  const reports = [
    says({ type: 'running', progress: 50 }),
    says({ type: 'queued' }),
    says({ type: 'running', progress: 20 }),
  ];
  rig.upstream.onPoll = (before) => reports[before] ?? completed();
  const { id } = await rig.create();
  for (const polls of [1, 2, 3]) {
    await rig.until(() => rig.upstream.polls === polls);
    const { status, progress } = await rig.get(id);
    assert.deepEqual({ status, progress }, { status: 'in_progress', progress: 50 });
  }
});

test('a task is lost after three consecutive 404s over a minute', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = () => ({ status: 404 });
  const task = await rig.ended((await rig.create()).id);
  assert.equal(task.status, 'failed');
  assert.equal(task.error?.code, 'upstream_task_lost');
  assert.equal(rig.upstream.polls, 3);
  assert.ok((task.settledAt ?? 0) - START >= MINUTE);
});

test('a task is lost as soon where the clock is set back by years meanwhile', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = () => ({ status: 404 });
  const { id } = await rig.create();
  await rig.until(() => rig.upstream.polls === 1);
  await rig.setBack(HOUR);
  await rig.until(() => rig.clock.now() >= HOUR + 5 * MINUTE);
  assert.equal((await rig.get(id)).error?.code, 'upstream_task_lost');
});

test('a lost task is queried again, and charged if it is there', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = (before) => (before < 4 ? { status: 404 } : completed({ cost: '2' }));
  const task = await rig.ended((await rig.create()).id);
  assert.equal(task.error?.code, 'upstream_task_lost');
  await rig.until(
    async () => (await rig.store.do('readVideoLedger', { taskId: task.id }))?.source === 'upstream',
    MINUTE,
  );
  assert.equal((await rig.store.do('readVideoLedger', { taskId: task.id }))?.cost, 2_000_000_000_000n);
});

test('a task that is lost for good is queried three times, and its hold ends', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = () => ({ status: 404 });
  const { id } = await rig.ended((await rig.create()).id);
  await rig.until(async () => !(await rig.store.call('readVideoUse', { id }))?.open, MINUTE);
  assert.equal(rig.upstream.polls, 6);
});

test('two 404s before the task is visible are ignored', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = (before) =>
    [0, 1, 3, 4].includes(before) ? { status: 404 } : before < 6 ? running : completed();
  assert.equal((await rig.ended((await rig.create()).id)).status, 'completed');
});

test('a completion without a video is polled once more', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = (before) => (before === 1 ? completed() : completed({ assets: [] }));
  assert.equal((await rig.ended((await rig.create()).id)).status, 'completed');
  rig.upstream.onPoll = () => completed({ assets: [], cost: '0.5' });
  const task = await rig.ended((await rig.create()).id);
  assert.equal(task.error?.code, 'result_missing');
  assert.deepEqual(encodeTask(task, object).usage, { video_seconds: 0, video_cost: '0.5', cost: 0.5 });
});

test('the error of the upstream is shown to the caller', async (context) => {
  const rig = await createRig(context);
  const error = { code: 'content_policy_violation', message: 'No.' };
  rig.upstream.onPoll = () => says({ type: 'failed', error, cost: '0.1' });
  const { id } = await rig.create();
  const body = encodeTask(await rig.ended(id), object);
  assert.deepEqual(
    [body.status, body.error, body.error_code, body.usage.video_cost, body.unsigned_urls],
    ['failed', 'No.', 'content_policy_violation', '0.1', []],
  );
  assert.equal((await rig.store.do('deliveriesOf', { taskId: id }))[0]?.id, `${id}-failed`);
});

for (const type of ['cancelled', 'expired'] as const) {
  test(`what the upstream reports as ${type} is ${type}`, async (context) => {
    const rig = await createRig(context);
    rig.upstream.onPoll = () => says({ type });
    const { id } = await rig.create();
    assert.equal((await rig.ended(id)).status, type);
    assert.equal((await rig.store.do('deliveriesOf', { taskId: id }))[0]?.id, `${id}-${type}`);
  });
}

forEachStore((name, open) => {
  test(`null characters, of callers and of the upstream, keep no task from being made, listed and ended (${name})`, async (context) => {
    const rig = await createRig(context, { store: await openVideoStore(context, open) });
    const error = { code: 'upstream_error', message: 'The model\0 failed.' };
    rig.upstream.onPoll = () => says({ type: 'failed', error });
    const { request } = newTask().creation;
    const { id } = await rig.create({ request: { ...request, prompt: 'a\0lake' } }, { idempotencyKey: 'a\0key' });
    await rig.until(() => rig.upstream.polls === 1);
    const task = await rig.get(id);
    assert.equal(task.status, 'failed');
    assert.match(task.error?.message ?? '', /^The model[\0\ufffd] failed\.$/);
    const list = (model: string) => rig.videos.list(OWNER, { limit: 1, order: 'desc', model });
    assert.deepEqual((await list('up/video\0')).tasks, []);
  });
});

test('follow-up calls are limited', async (context) => {
  const follow = (path: string) => ({
    method: 'GET' as const,
    path,
    read: (response: { body: unknown }) => response.body as never,
  });
  const video = {
    ...scriptedApi,
    poll: ({ id }: { id: string }) => ({
      ...{ method: 'GET' as const, path: `/videos/${id}` },
      read: () => ({ type: 'follow' as const, call: follow(`/videos/${id}-result`) }),
    }),
  };
  const rig = await createRig(context, { video });
  rig.upstream.onPoll = () => completed();
  assert.equal((await rig.ended((await rig.create()).id)).status, 'completed');
  assert.equal(rig.upstream.polls, 2);
});

test('an adapter that throws does not keep a task from expiring', async (context) => {
  const fail = () => {
    throw new TypeError('a mistake');
  };
  const video = {
    ...scriptedApi,
    poll: ({ id }: { id: string }) => ({ method: 'GET' as const, path: `/videos/${id}`, read: fail }),
  };
  const rig = await createRig(context, { video });
  assert.equal((await rig.ended((await rig.create({ expiresAfter: 300 })).id)).status, 'expired');
});

test('Retry-After delays the next poll', async (context) => {
  const rig = await createRig(context);
  let last = 0;
  rig.upstream.onPoll = (before) => {
    const pause = rig.clock.now() - last;
    if (before > 0) assert.ok(pause >= 90 * SECOND, `${pause}`);
    last = rig.clock.now();
    return before < 4 ? { json: { type: 'running' }, headers: { 'retry-after': '90' } } : completed();
  };
  assert.equal((await rig.ended((await rig.create()).id)).status, 'completed');
});

test('at the deadline the task is polled once more, then cancelled upstream', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = () => running;
  const { id } = await rig.create({ expiresAfter: 60 });
  const task = await rig.ended(id);
  assert.equal(task.status, 'expired');
  assert.equal(task.error?.code, 'deadline_exceeded');
  assert.equal((task.settledAt ?? 0) - START, MINUTE);
  assert.equal(rig.upstream.cancels, 1);
  rig.upstream.onPoll = () => completed({ cost: '7' });
  await rig.until(
    async () => (await rig.store.do('readVideoLedger', { taskId: id }))?.cost === 7_000_000_000_000n,
    MINUTE,
  );
  assert.equal((await rig.get(id)).status, 'expired');
  assert.equal((await rig.store.do('readVideoLedger', { taskId: id }))?.seconds, 8);
});

test('a video finished at the deadline is delivered', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = () => (rig.clock.now() - START < MINUTE ? { status: 500 } : completed());
  assert.equal((await rig.ended((await rig.create({ expiresAfter: 60 })).id)).status, 'completed');
});

test('the cost of a task that is missing once is still found', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = () => running;
  const { id } = await rig.create({ expiresAfter: 60 });
  await rig.ended(id);
  const { polls } = rig.upstream;
  rig.upstream.onPoll = (before) => {
    const query = before - polls;
    return query < 4 ? running : query === 4 ? { status: 404 } : completed({ cost: '7' });
  };
  await rig.until(
    async () => (await rig.store.do('readVideoLedger', { taskId: id }))?.cost === 7_000_000_000_000n,
    MINUTE,
  );
});

test('a task that stays missing is given up after three queries', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = () => running;
  await rig.ended((await rig.create({ expiresAfter: 60 })).id);
  const { polls } = rig.upstream;
  rig.upstream.onPoll = () => ({ status: 404 });
  await rig.until(async () => {
    const { waiting } = await rig.store.do('countJobs', { kind: 'video-booking', now: rig.clock.now() });
    return waiting === 0;
  }, 10 * MINUTE);
  assert.equal(rig.upstream.polls - polls, 3);
});

test('cost reconciliation of a task that never ends stops after some hours', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = () => running;
  await rig.ended((await rig.create({ expiresAfter: 60 })).id);
  await rig.until(async () => {
    const { waiting } = await rig.store.do('countJobs', { kind: 'video-booking', now: rig.clock.now() });
    return waiting === 0;
  }, 10 * MINUTE);
  assert.ok(rig.clock.now() - START < 12 * HOUR);
});

test('tasks of a removed credential stay open until it is configured again', async (context) => {
  const rig = await createRig(context);
  const { id } = await rig.create();
  await rig.work();
  const other = await createRig(context, { store: rig.store, keys: ['two'], url: rig.upstream.url });
  other.clock.advance(HOUR);
  await other.work();
  assert.equal((await rig.get(id)).status, 'queued');
  assert.equal(rig.upstream.polls, 0);
  rig.clock.advance(2 * HOUR);
  assert.equal((await rig.ended(id)).status, 'completed');
});

test('tasks of other owners and unknown tasks get video_not_found', async (context) => {
  const rig = await createRig(context);
  const { id } = await rig.create();
  for (const call of [
    () => rig.videos.get('key-2', id),
    () => rig.videos.cancel('key-2', id, { abandon: true }),
    () => rig.videos.remove('key-2', id),
    () => rig.videos.get(OWNER, 'nothing'),
  ]) {
    await assert.rejects(call, { code: 'video_not_found' });
  }
  assert.equal((await rig.videos.get(OWNER, id)).model, model.id);
});
