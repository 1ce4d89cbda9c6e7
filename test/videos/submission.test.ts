/** Whatever happens while a task is handed to its upstream: it is made once, or the caller is told that nobody knows. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAddressPolicy } from '../../src/net/address-policy.ts';
import { FetchFailure } from '../../src/net/fetch-failure.ts';
import { createGuardedClient } from '../../src/net/guarded-client.ts';
import { openrouterVideos } from '../../src/providers/videos/openrouter-videos.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { startHttps, testCa } from '../net/servers.ts';
import { forEachStore } from '../store/stores.ts';
import { claim, createRig, HOUR, MINUTE, OWNER, openVideoStore, SECOND } from './rig.ts';
import { completed, type Reply, says, scriptedApi, startUpstream, taken } from './scripted.ts';

const UNREACHABLE = {
  'refuses connections': () => 'http://127.0.0.1:1',
  'has no address': () => 'http://nothing.invalid',
  'speaks no TLS': (url: string) => url.replace('http:', 'https:'),
};

for (const [name, addressOf] of Object.entries(UNREACHABLE)) {
  test(`an upstream that ${name} has seen nothing, and gets the task when it is back`, async (context) => {
    const server = await startUpstream(context);
    const rig = await createRig(context, { url: addressOf(server.url) });
    const { id } = await rig.create();
    rig.clock.advance(10 * MINUTE);
    await rig.work();
    assert.deepEqual(await rig.store.do('attemptStates', { taskId: id }), ['intent']);
    const back = await createRig(context, { store: rig.store });
    back.clock.advance(HOUR);
    assert.equal((await back.ended(id)).status, 'completed');
    assert.equal(back.upstream.posts, 1);
    assert.equal(server.posts, 0);
  });
}

/** Responses after which nobody knows whether the task exists. */
const UNCLEAR: Record<string, Reply> = {
  'a connection that breaks': 'reset',
  'a 502': { status: 502 },
  'a 504': { status: 504, raw: '<html>' },
  'a 500': { status: 500 },
  'a 200 without a task': { status: 200, raw: 'ok' },
};

for (const [name, reply] of Object.entries(UNCLEAR)) {
  test(`${name} after the task was taken: it is found, not made again`, async (context) => {
    const rig = await createRig(context);
    rig.upstream.onSubmit = (take) => {
      take();
      return reply;
    };
    assert.equal((await rig.ended((await rig.create()).id)).status, 'completed');
    assert.equal(rig.upstream.posts, 1);
    assert.equal(rig.upstream.submissions.length, 1);
  });

  test(`${name} without a way to find the task: it fails and is never sent again`, async (context) => {
    const rig = await createRig(context, { video: { ...scriptedApi, find: undefined } });
    rig.upstream.onSubmit = () => reply;
    const { id } = await rig.create();
    const task = await rig.ended(id);
    assert.equal(task.error?.code, 'submit_unknown');
    assert.deepEqual(await rig.store.do('attemptStates', { taskId: id }), ['ambiguous']);
    rig.clock.advance(24 * HOUR);
    await rig.work();
    assert.equal(rig.upstream.posts, 1);
  });
}

test('a task that was not accepted is submitted again, but only once the task list is up to date', async (context) => {
  const rig = await createRig(context);
  let sentAt = 0;
  rig.upstream.onSubmit = (take) => {
    if (rig.upstream.posts > 1) {
      assert.ok(rig.clock.now() - sentAt >= 4 * MINUTE);
      return taken(take());
    }
    sentAt = rig.clock.now();
    return 'reset';
  };
  assert.equal((await rig.ended((await rig.create()).id)).status, 'completed');
  assert.equal(rig.upstream.posts, 2);
});

test('two workers with one job submit it once', async (context) => {
  for (const find of [scriptedApi.find, undefined]) {
    const video = { ...scriptedApi, find };
    const one = await createRig(context, { video });
    const two = await createRig(context, { video, store: one.store, url: one.upstream.url });
    one.upstream.onSubmit = (take) => ({ ...(taken(take()) as object), after: 300 });
    const { id } = await one.create();
    const [job] = await claim(one.store, 'video', one.clock.now());
    assert.ok(job);
    const { signal } = new AbortController();
    const first = one.videos.handlers[0]?.run(job, signal);
    while (one.upstream.posts === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    await two.videos.handlers[0]?.run(job, signal);
    await first;
    one.clock.advance(10 * MINUTE);
    assert.equal((await one.ended(id)).status, 'completed');
    assert.equal(one.upstream.posts, 1);
  }
});

for (const find of [scriptedApi.find, undefined]) {
  const name = find ? 'with' : 'without';
  test(`a submission that waited for the store is sent once, ${name} a list of tasks`, async (context) => {
    const store = await openVideoStore(context);
    const real = store.call;
    let isAway = false;
    let refused = 0;
    store.call = async (operation, parameters) => {
      if (isAway && operation === 'saveVideo') {
        refused += 1;
        throw new StoreUnavailable('away');
      }
      return real(operation, parameters);
    };
    const rig = await createRig(context, { store, video: { ...scriptedApi, find } });
    const gate = Promise.withResolvers<void>();
    rig.upstream.onSubmit = (take) => ({
      ...(taken(take()) as object),
      ...(rig.upstream.posts === 1 && { until: gate.promise }),
    });
    // The task is in the list only when its submission has ended.
    rig.upstream.onFind = () => says({ type: 'none' });
    const { id } = await rig.create();
    const [job] = await claim(store, 'video', rig.clock.now());
    assert.ok(job);
    isAway = true;
    const first = rig.videos.handlers[0]?.run(job, new AbortController().signal);
    const sentAt = rig.clock.now();
    while (refused === 0 || rig.clock.now() < sentAt + 10 * MINUTE) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      if (refused > 0) rig.clock.advance(10 * SECOND);
    }
    isAway = false;
    while (rig.upstream.posts === 0) {
      rig.clock.advance(100);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    // The lease has expired meanwhile: another worker takes the job.
    await rig.work();
    gate.resolve();
    await first;
    assert.equal((await rig.ended(id)).status, 'completed');
    assert.equal(rig.upstream.posts, 1);
  });
}

test('a submission whose process was suspended before it was sent is sent once', async (context) => {
  const store = await openVideoStore(context);
  const real = store.call;
  const rig = await createRig(context, { store });
  let isSuspended = false;
  store.call = async (operation, parameters) => {
    const result = await real(operation, parameters);
    if (operation === 'saveVideo' && !isSuspended) {
      isSuspended = true;
      rig.clock.advance(5 * MINUTE);
    }
    return result;
  };
  const gate = Promise.withResolvers<void>();
  rig.upstream.onSubmit = (take) => ({
    ...(taken(take()) as object),
    ...(rig.upstream.posts === 1 && { until: gate.promise }),
  });
  rig.upstream.onFind = () => says({ type: 'none' });
  const { id } = await rig.create();
  const [job] = await claim(store, 'video', rig.clock.now());
  assert.ok(job);
  const first = rig.videos.handlers[0]?.run(job, new AbortController().signal);
  while (rig.upstream.posts === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  await rig.work();
  gate.resolve();
  await first;
  assert.equal((await rig.ended(id)).status, 'completed');
  assert.equal(rig.upstream.posts, 1);
});

for (const find of [scriptedApi.find, undefined]) {
  const name = find ? 'submits it again' : 'gives it up';
  test(`a task that is accepted while another worker ${name} goes on`, async (context) => {
    const video = { ...scriptedApi, find };
    const one = await createRig(context, { video });
    const gate = Promise.withResolvers<void>();
    one.upstream.onSubmit = (take) => ({ ...(taken(take()) as object), until: gate.promise });
    one.upstream.onFind = () => says({ type: 'none' });
    const { id } = await one.create();
    const [job] = await claim(one.store, 'video', one.clock.now());
    assert.ok(job);
    const first = one.videos.handlers[0]?.run(job, new AbortController().signal);
    while (one.upstream.posts === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    const store = { ...one.store };
    store.call = async (operation, parameters) => {
      if (operation === 'saveVideo') {
        gate.resolve();
        await first;
      }
      return one.store.call(operation, parameters);
    };
    const two = await createRig(context, { video, store, url: one.upstream.url });
    two.clock.advance(5 * MINUTE);
    await two.work();
    assert.deepEqual(await one.store.do('attemptStates', { taskId: id }), ['accepted']);
    assert.equal((await two.ended(id)).status, 'completed');
    assert.equal(one.upstream.posts, 1);
  });
}

test('an inconclusive task list is queried for ten minutes', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onSubmit = () => 'reset';
  rig.upstream.onFind = () => says({ type: 'unclear' });
  const task = await rig.ended((await rig.create()).id);
  assert.equal(task.error?.code, 'submit_unknown');
  assert.ok((task.settledAt ?? 0) - task.createdAt >= 10 * MINUTE);
  assert.equal(rig.upstream.posts, 1);
});

test('an inconclusive task list is queried for ten minutes also where the clock is set back by years meanwhile', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onSubmit = () => 'reset';
  rig.upstream.onFind = () => says({ type: 'unclear' });
  const { id } = await rig.create();
  await rig.work();
  rig.clock.set(HOUR);
  const now = rig.clock.now();
  await rig.store.call('correctJobs', { kind: 'video', now, latest: now + 2 * HOUR, leaseUntil: now });
  await rig.until(async () => rig.clock.now() >= now + 20 * MINUTE);
  assert.equal((await rig.get(id)).error?.code, 'submit_unknown');
  assert.equal(rig.upstream.posts, 1);
});

test('a submission is sent again where the list has no task, also if its moment is seconds ahead of the clock of another gateway', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onSubmit = (take) => (rig.upstream.posts === 1 ? 'reset' : taken(take()));
  rig.upstream.onFind = () => says({ type: 'none' });
  const { id } = await rig.create();
  await rig.work();
  rig.clock.set(rig.clock.now() - 5 * SECOND);
  const now = rig.clock.now();
  await rig.store.call('correctJobs', { kind: 'video', now, latest: now, leaseUntil: now });
  await rig.work();
  assert.equal((await rig.ended(id)).status, 'completed');
  assert.equal(rig.upstream.posts, 2);
});

test('a task list proves nothing where the clock is set back by years after a submission: it is not sent again', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onSubmit = () => 'reset';
  rig.upstream.onFind = () => says({ type: 'none' });
  const { id } = await rig.create();
  await rig.work();
  rig.clock.set(HOUR);
  const now = rig.clock.now();
  await rig.store.call('correctJobs', { kind: 'video', now, latest: now + 2 * HOUR, leaseUntil: now });
  await rig.until(async () => rig.clock.now() >= now + 20 * MINUTE);
  assert.equal((await rig.get(id)).error?.code, 'submit_unknown');
  assert.equal(rig.upstream.posts, 1);
});

for (const [minutes, status] of [
  [5, 'completed'],
  [60, 'failed'],
] as const) {
  test(`a task whose submission is unclear while its provider is not configured for ${minutes} minutes is found then, and charged`, async (context) => {
    const rig = await createRig(context);
    rig.upstream.onSubmit = (take) => {
      take();
      rig.configured = false;
      return 'reset';
    };
    rig.upstream.onPoll = () => completed({ cost: '2' });
    const { id } = await rig.create();
    const back = rig.clock.now() + minutes * MINUTE;
    await rig.until(() => rig.clock.now() >= back, MINUTE);
    rig.configured = true;
    const task = await rig.ended(id);
    assert.deepEqual([task.status, task.error?.code], [status, status === 'failed' ? 'submit_unknown' : undefined]);
    if (status === 'failed') assert.ok((task.settledAt ?? 0) - task.createdAt >= 10 * MINUTE);
    await rig.until(
      async () => (await rig.store.do('readVideoLedger', { taskId: id }))?.cost === 2_000_000_000_000n,
      MINUTE,
    );
    assert.equal(rig.upstream.posts, 1);
  });
}

test('a task that the list shows after its end here is charged', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onSubmit = (take) => {
    take();
    return 'reset';
  };
  let looks = 0;
  const listed = rig.upstream.onFind;
  rig.upstream.onFind = (attempt) => (++looks < 25 ? says({ type: 'unclear' }) : listed(attempt));
  rig.upstream.onPoll = () => completed({ cost: '2' });
  const task = await rig.ended((await rig.create()).id);
  assert.equal(task.error?.code, 'submit_unknown');
  assert.ok(looks < 25);
  await rig.until(
    async () => (await rig.store.do('readVideoLedger', { taskId: task.id }))?.source === 'upstream',
    MINUTE,
  );
});

test('a task that was abandoned during its submission is charged, also if the store is away when it is accepted', async (context) => {
  const store = await openVideoStore(context);
  const real = store.call;
  let away = 2;
  store.call = async (operation, parameters) => {
    if (operation === 'scheduleCostReconciliation' && away-- > 0) throw new StoreUnavailable('away');
    return real(operation, parameters);
  };
  const video = { ...scriptedApi, find: undefined, cancel: undefined };
  const rig = await createRig(context, { store, video });
  const gate = Promise.withResolvers<void>();
  rig.upstream.onSubmit = (take) => ({ ...(taken(take()) as object), until: gate.promise });
  rig.upstream.onPoll = () => completed({ cost: '2' });
  const { id } = await rig.create();
  const [job] = await claim(store, 'video', rig.clock.now());
  assert.ok(job);
  let isOver = false;
  const run = rig.videos.handlers[0]?.run(job, new AbortController().signal).finally(() => {
    isOver = true;
  });
  while (rig.upstream.posts === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  await rig.videos.cancel(OWNER, id, { abandon: true });
  gate.resolve();
  while (!isOver) {
    rig.clock.advance(50);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await run?.catch(() => undefined);
  for (let minutes = 0; minutes < 5; minutes++) {
    rig.clock.advance(MINUTE);
    await rig.work();
  }
  assert.equal((await store.do('readVideoLedger', { taskId: id }))?.source, 'upstream');
});

test('a submission uses a new connection', async (context) => {
  const rig = await createRig(context);
  for (let count = 0; count < 3; count++) assert.equal((await rig.ended((await rig.create()).id)).status, 'completed');
  assert.deepEqual([rig.upstream.posts, rig.upstream.reused], [3, 0]);
});

test('media inputs are stored until the submission succeeds or fails', async (context) => {
  const rig = await createRig(context);
  const requestOf = (id: string) => rig.store.call('readVideoRequest', { id });
  const { id } = await rig.create();
  assert.equal((await requestOf(id)).prompt, 'a quiet lake');
  rig.upstream.onSubmit = () => ({ status: 503 });
  await rig.work();
  assert.ok(await requestOf(id));
  const cancelled = await rig.create();
  await rig.videos.cancel(OWNER, cancelled.id, { abandon: false });
  assert.equal(await requestOf(cancelled.id), undefined);
  rig.upstream.onSubmit = (take) => taken(take());
  rig.clock.advance(MINUTE);
  await rig.work();
  assert.equal(await requestOf(id), undefined);
  assert.equal((await rig.ended(id)).prompt, 'a quiet lake');
});

test('a rejection fails the task with the error of the adapter', async (context) => {
  const rig = await createRig(context, { keys: ['one', 'two'] });
  rig.upstream.onSubmit = () => ({ status: 400 });
  const task = await rig.ended((await rig.create()).id);
  assert.deepEqual(task.error, { code: 'upstream_rejected', message: 'Refused with 400.' });
  assert.equal(rig.upstream.posts, 1);
});

for (const status of [401, 402, 403, 429, 503]) {
  test(`${status} for one key: another is tried at once, and the task stays with it`, async (context) => {
    const rig = await createRig(context, { keys: ['one', 'two'] });
    const keys: (string | undefined)[] = [];
    rig.upstream.onSubmit = (take, key) => {
      keys.push(key);
      return rig.upstream.posts === 1 ? { status } : taken(take());
    };
    const { id } = await rig.create();
    await rig.work();
    assert.equal(rig.upstream.posts, 2);
    assert.deepEqual(keys.toSorted(), ['one', 'two']);
    assert.equal((await rig.ended(id)).status, 'completed');
  });
}

test('403 for what was asked fails the task, and leaves the other keys alone', async (context) => {
  const rig = await createRig(context, { video: openrouterVideos, keys: ['one', 'two'] });
  const message = 'The model requires moderation. Your input was flagged for "violence".';
  rig.upstream.onSubmit = () => ({ status: 403, json: { error: { code: 403, message } } });
  const { id } = await rig.create();
  const task = await rig.ended(id);
  assert.deepEqual(task.error, { code: 'content_policy_violation', message });
  assert.equal(rig.upstream.posts, 1);
  assert.deepEqual(await rig.store.do('attemptStates', { taskId: id }), ['rejected']);
});

test('the key that a provider names is not in the error of a task', async (context) => {
  const key = '7d0a4be91c5f4c6e8a2b3d4f5e6a7b8c';
  const rig = await createRig(context, { video: openrouterVideos, keys: [key] });
  const error = { code: 400, message: `The key ${key} may not use this.` };
  rig.upstream.onSubmit = () => ({ status: 400, json: { error } });
  const task = await rig.ended((await rig.create()).id);
  assert.equal(task.error?.message, `The key ${'*'.repeat(32)} may not use this.`);
});

test('with all credentials rate limited, the task waits for Retry-After', async (context) => {
  const rig = await createRig(context, { keys: ['one', 'two'] });
  rig.upstream.onSubmit = (take) =>
    rig.upstream.posts <= 2 ? { status: 429, headers: { 'retry-after': '120' } } : taken(take());
  const task = await rig.ended((await rig.create()).id);
  assert.equal(task.status, 'completed');
  assert.equal(rig.upstream.posts, 3);
  assert.ok((task.settledAt ?? 0) - task.createdAt > 120 * SECOND);
});

test('with all credentials refused permanently, the task fails', async (context) => {
  const rig = await createRig(context, { keys: ['one', 'two'] });
  rig.upstream.onSubmit = () => ({ status: 401 });
  const task = await rig.ended((await rig.create()).id);
  assert.equal(task.status, 'failed');
  assert.equal(rig.upstream.posts, 2);
});

test('a task that was never accepted expires at its deadline', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onSubmit = () => ({ status: 503 });
  const { id } = await rig.create({ expiresAfter: 300 });
  const task = await rig.ended(id);
  assert.equal(task.status, 'expired');
  assert.equal((task.settledAt ?? 0) - task.createdAt, 300 * SECOND);
  assert.equal((await rig.store.do('countJobs', { kind: 'video-booking', now: 0 })).waiting, 0);
});

test('inputs are fetched before the submission, and an invalid one fails the task', async (context) => {
  const rig = await createRig(context, { video: { ...scriptedApi, inlinesMedia: true } });
  const bodies: unknown[] = [];
  rig.upstream.onSubmit = (take) => {
    bodies.push(1);
    return taken(take());
  };
  const request = {
    ...{ model: 'video', prompt: 'x', duration: 8, references: [], count: 1 },
    frames: [{ type: 'first_frame' as const, input: { url: 'https://pictures.example/a.png' } }],
  };
  assert.equal((await rig.ended((await rig.create({ request })).id)).status, 'completed');
  assert.equal(bodies.length, 1);
});

test('an input that cannot be fetched for a moment gets four tries, whatever else went wrong before', async (context) => {
  let tries = 0;
  const rig = await createRig(context, {
    video: { ...scriptedApi, inlinesMedia: true },
    async fetchBytes() {
      tries += 1;
      if (rig.upstream.posts < 5 || tries % 4 === 0) return { bytes: Buffer.alloc(4) };
      throw new FetchFailure('timeout');
    },
  });
  rig.upstream.onSubmit = (take) => (rig.upstream.posts <= 5 ? { status: 503 } : taken(take()));
  const request = {
    ...{ model: 'video', prompt: 'x', duration: 8, references: [], count: 1 },
    frames: [{ type: 'first_frame' as const, input: { url: 'https://pictures.example/a.png' } }],
  };
  assert.equal((await rig.ended((await rig.create({ request })).id)).status, 'completed');
  assert.equal(rig.upstream.posts, 6);
});

for (const [status, posts] of [
  [503, 1],
  [429, 1],
  [404, 0],
] as const) {
  test(`an input whose server answers ${status} at first ${posts > 0 ? 'is fetched again' : 'fails the task'}`, async (context) => {
    let asked = 0;
    const pictures = await startHttps((_request, response) => {
      asked += 1;
      response.writeHead(asked === 1 ? status : 200, { 'content-type': 'image/png' }).end('png');
    });
    context.after(pictures.close);
    const policy = createAddressPolicy({ allowCidrs: ['127.0.0.0/8'] });
    const { fetchBytes } = createGuardedClient({ policy, lookup: async () => ['127.0.0.1'], extraCa: testCa });
    const rig = await createRig(context, { video: { ...scriptedApi, inlinesMedia: true }, fetchBytes });
    const url = `https://media.example.com:${pictures.port}/a.png`;
    const frames = [{ type: 'first_frame' as const, input: { url } }];
    const request = { model: 'video', prompt: 'x', duration: 8, references: [], count: 1, frames };
    const task = await rig.ended((await rig.create({ request })).id);
    assert.equal(task.status, posts > 0 ? 'completed' : 'failed');
    assert.deepEqual([rig.upstream.posts, asked], [posts, posts + 1]);
  });
}

test('a stop during a poll is not recorded as an outcome', async (context) => {
  const rig = await createRig(context);
  rig.upstream.onPoll = () => ({ ...(completed() as object), after: 5000 });
  const { id } = await rig.create();
  await rig.work();
  rig.clock.advance(10 * SECOND);
  const [handler] = rig.videos.handlers;
  const now = rig.clock.now();
  const [job] = (
    await rig.store.call('claimJobs', {
      ...{ kind: 'video', now, until: now, lease: 'a', leaseUntil: now + HOUR },
      ...{ slots: 1, lateSlots: 1, maxPerLane: 1, maxPerOwner: 1 },
    })
  ).jobs;
  assert.ok(handler && job);
  const stop = new AbortController();
  const run = handler.run(job, stop.signal);
  while (rig.upstream.polls === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  stop.abort(new Error('the gateway stops'));
  await assert.rejects(run, /the gateway stops/);
  const { status, memory } = await rig.get(id);
  assert.deepEqual({ status, failures: memory.failures }, { status: 'queued', failures: undefined });
});

test('creation leaves nothing behind if the store cannot write', async (context) => {
  const store = await openVideoStore(context);
  const rig = await createRig(context, { store });
  await store.close();
  await assert.rejects(rig.create(), { code: 'unavailable' });
});

test('a lost submission does not get the task of an identical request', async (context) => {
  const rig = await createRig(context);
  const first = await rig.create();
  await rig.work();
  const [other] = rig.upstream.submissions;
  rig.upstream.onSubmit = () => 'reset';
  let looks = 0;
  rig.upstream.onFind = () => {
    looks += 1;
    return says({ type: 'found', ref: { id: other?.id } });
  };
  const second = await rig.ended((await rig.create()).id);
  assert.ok(looks > 0);
  assert.equal(second.error?.code, 'submit_unknown');
  assert.equal((await rig.get(first.id)).status, 'completed');
});

forEachStore((name, open) => {
  test(`two lost submissions do not share one task (${name})`, async (context) => {
    const store = await openVideoStore(context, open);
    const rig = await createRig(context, { store });
    rig.upstream.onSubmit = (take) => {
      if (rig.upstream.posts === 1) take();
      return rig.upstream.posts <= 2 ? 'reset' : taken(take());
    };
    rig.upstream.onFind = () =>
      says(rig.upstream.posts > 2 ? { type: 'none' } : { type: 'found', ref: { id: 'up-0' } });
    const tasks = await Promise.all([rig.create(), rig.create()]);
    await rig.work();
    const refs = await Promise.all(tasks.map(async ({ id }) => (await store.call('loadVideo', { id }))?.attempt.ref));
    assert.equal(refs.filter((ref) => ref !== undefined).length, 1, JSON.stringify(refs));
  });
});

test('the task of an identical request in submission does not match a lost one', async (context) => {
  const rig = await createRig(context);
  const { id } = await rig.create();
  rig.upstream.onSubmit = () => 'reset';
  rig.upstream.onFind = () => says({ type: 'unclear' });
  await rig.work();
  const lost = await rig.store.call('loadVideo', { id });
  assert.ok(lost);
  const now = rig.clock.now();
  const { attempt, task } = (await rig.store.call('loadVideo', { id: (await rig.create()).id })) ?? lost;
  const sending = { ...attempt, state: 'sending', sentAt: now } as const;
  await rig.store.call('saveVideo', { task, attempt: sending });
  const claim = (sentAfter: number) =>
    rig.store.call('claimVideoRef', { attempt: { ...lost.attempt, ref: { id: 'up-9' } }, sentAfter });
  assert.equal(await claim(now - 1), false);
  assert.equal(await claim(now), true);
});

test('a task cancelled during a submission that was not accepted is not submitted again', async (context) => {
  for (const refusal of [{ status: 503 }, { status: 429 }, 'reset'] as Reply[]) {
    const rig = await createRig(context);
    const { id } = await rig.create();
    rig.upstream.onSubmit = () => (refusal === 'reset' ? refusal : { ...refusal, after: 200 });
    rig.upstream.onFind = () => says({ type: 'none' });
    const work = rig.work();
    while (rig.upstream.posts === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    await rig.videos.cancel(OWNER, id, { abandon: false });
    await work;
    const task = await rig.ended(id);
    assert.deepEqual([task.status, task.error?.code, rig.upstream.posts], ['cancelled', 'cancelled', 1]);
  }
});
