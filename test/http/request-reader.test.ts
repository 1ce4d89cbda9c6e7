/** Reader of requests on both engines: its failures are those of the sums, and one that runs is found. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { lookAtTop } from '../../src/cli/top/view.ts';
import { systemClock } from '../../src/core/clock.ts';
import { newRequestId } from '../../src/core/request-id.ts';
import { FILTER_PARAMETERS } from '../../src/http/requests/query.ts';
import { createRequestReader } from '../../src/http/requests/reader.ts';
import { createRecorder } from '../../src/usage/recorder.ts';
import { newestRequests } from '../../src/usage/request-search.ts';
import { readUseQuery, USE_DIMENSIONS } from '../../src/usage/use-query.ts';
import { reportUse, type UseReport } from '../../src/usage/use-report.ts';
import { forEachStore } from '../store/stores.ts';
import { completion, intent } from '../usage/records.ts';

const ROUTES = { models: new Map(), aliases: new Map(), bareNames: [], fallbackModels: [] };
const NO_MODELS = { providers: new Map(), routes: ROUTES };

const STATUSES = ['completed', 'failed', 'partial', 'partial', 'cancelled', 'interrupted', 'failed', 'failed'] as const;
const log = pino({ level: 'silent' });
const ofTotal = ({ total }: UseReport) => [total.requests, total.failures, total.partial];
const NO_TOKENS = {
  ...{ input_tokens: 0, output_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 },
  ...{ audio_tokens: 0, searches: 0 },
};
const VIDEO = {
  ...{ id: 'vid_1', key_id: 'key-1', model: 'openai/gpt-5', endpoint_provider: 'openai', endpoint_model: 'gpt-5' },
  ...{ protocol_in: 'videos', protocol_out: 'videos', stream: 0, status: 'completed' as const, error_code: null },
  ...{ finish: null, estimated: 0, attempts: 1, ...NO_TOKENS, cost: 7n, first_byte_ms: null, total_ms: 9 },
  ...{ upstream_id: null, tags: '', revision: 1 },
};
const SAMPLES: Record<string, string> = { tag: 'team=a', without_tag: 'team' };

/** A value that a filter takes. */
function sampleOf(name: string, { type, enum: values }: { type?: string; enum?: string[] }): string {
  if (type === 'boolean') return 'true';
  return SAMPLES[name] ?? values?.[0] ?? '5';
}

const EVERYBODY = { names: new Map<string, string>() };

forEachStore((engine, open) => {
  test(`failures are the same in sums, summaries, conversations and on the command line (${engine})`, async (context) => {
    const store = await open(context);
    const recorder = createRecorder({ store, instance: 'one', durability: 'batched', log });
    // They have ended.
    const now = Date.now() - 1000;
    for (const [index, status] of STATUSES.entries()) {
      const begun = intent(newRequestId(now), { startedAt: now });
      const usage = { input: 120, output: 30, cached: 20, estimated: index < 2 };
      await recorder.finish(begun, completion({ status, usage, trace: '{"s":"agent-1","a":[]}' }));
    }
    await recorder.close(10_000);
    const reader = createRequestReader({ store, models: () => NO_MODELS, recorder: undefined, clock: systemClock });
    const { data: summary } = await reader.summary(new URLSearchParams(), EVERYBODY);
    const { data: sessions } = await reader.sessions(new URLSearchParams(), EVERYBODY);
    const sums = async (by: string) =>
      reportUse(store, readUseQuery(new URLSearchParams({ by }), Date.now(), USE_DIMENSIONS), {
        ...EVERYBODY,
        hasPrice: () => false,
      });
    const top = await lookAtTop(
      { store, clock: systemClock },
      { filter: {}, names: EVERYBODY.names, hasPrice: () => true },
    );
    const search = { filter: { hasFailed: true }, from: 0, to: Number.MAX_SAFE_INTEGER, limit: 100 };
    const failed = await newestRequests(search, { store, clock: systemClock });
    assert.deepEqual(
      {
        summary: [summary.requests, summary.failures],
        beside: [summary.partial, summary.interrupted],
        estimates: [summary, sessions[0]].map((sums) => [sums.estimated_tokens, sums.estimated_cost]),
        sessions: [sessions[0].requests, sessions[0].failures, sessions[0].partial],
        sums: ofTotal(await sums('model')),
        minutes: ofTotal(await sums('minute')),
        top: [top.endpoints[0]?.requests, top.endpoints[0]?.failed],
        ofTop: [top.failedShare, top.partial, top.interrupted],
        tail: failed.rows.length,
      },
      {
        ...{ summary: [8, 3], beside: [2, 1], sessions: [8, 3, 2], sums: [8, 3, 2], minutes: [8, 3, 2], top: [8, 3] },
        ...{ ofTop: [3 / 8, 2, 1], tail: 3 },
        estimates: [
          [300, '0.003'],
          [300, '0.003'],
        ],
      },
    );
  });

  test(`a request that runs is found by its id, of its key only, until it ends (${engine})`, async (context) => {
    const store = await open(context);
    const recorder = createRecorder({ store, instance: 'one', durability: 'strict', log });
    const id = newRequestId(Date.now());
    const begun = intent(id, { startedAt: Date.now() });
    await recorder.begin(begun);
    await recorder.begin(intent(newRequestId(Date.now()), { startedAt: Date.now() + 1000 }));
    const reader = createRequestReader({ store, models: () => NO_MODELS, recorder, clock: systemClock });
    const { data } = await reader.get(id, EVERYBODY);
    assert.deepEqual([data.id, data.status, data.ended_at, data.trace], [id, 'running', null, null]);
    const { data: list } = await reader.list(new URLSearchParams('open=true'), EVERYBODY);
    assert.deepEqual(
      list.map(({ ended_at: endedAt }: { ended_at: unknown }) => endedAt),
      [null, null],
    );
    assert.equal((await reader.get(id, { ...EVERYBODY, keyId: 'key-1' })).data.id, id);
    await assert.rejects(reader.get(id, { ...EVERYBODY, keyId: 'stranger' }), { code: 'not_found' });
    await recorder.finish(begun, completion());
    await recorder.flushed();
    const { data: ended } = await reader.get(id, EVERYBODY);
    assert.deepEqual([ended.status, typeof ended.ended_at], ['completed', 'string']);
    await recorder.close(0);
  });

  test(`a filter is one of requests that run, or is named as one that is not (${engine})`, async (context) => {
    const store = await open(context);
    const reader = createRequestReader({ store, models: () => NO_MODELS, recorder: undefined, clock: systemClock });
    const known: string[] = [];
    for (const { name, schema } of FILTER_PARAMETERS) {
      const query = new URLSearchParams({ [name]: sampleOf(name, schema) });
      const { data } = await reader.summary(query, EVERYBODY);
      query.set('open', 'true');
      const isKnown = data.running_ignores.length === 0;
      if (isKnown) {
        known.push(name);
        assert.deepEqual((await reader.list(query, EVERYBODY)).data, []);
      } else {
        assert.deepEqual(data.running_ignores, [name]);
        await assert.rejects(reader.list(query, EVERYBODY), { code: 'invalid_request', param: name });
      }
    }
    assert.deepEqual(known, ['model', 'requested', 'provider', 'protocol', 'upstream_protocol', 'tag']);
    for (const name of ['from', 'after', 'live', 'format']) {
      const value = { from: '2020-01-01', after: 'x', live: 'x', format: 'json' }[name] ?? '';
      const query = new URLSearchParams({ open: 'true', [name]: value });
      await assert.rejects(reader.list(query, EVERYBODY), { code: 'invalid_request', param: name });
    }
  });

  test(`all requests in flight are counted, by the filters that are known of them (${engine})`, async (context) => {
    const store = await open(context);
    const [one, other] = ['one', 'other'].map((instance) =>
      createRecorder({ store, instance, durability: 'strict', log }),
    );
    const begin = async (recorder: typeof one, count: number, more = {}) => {
      const begun = Array.from({ length: count }, (_, index) =>
        intent(newRequestId(Date.now()), { startedAt: Date.now() + index, ...more }),
      );
      await Promise.all(begun.map((each) => recorder?.begin(each)));
      return begun;
    };
    const [first] = await begin(one, 210);
    await begin(other, 1100, { keyId: 'key-2', tags: 'env=prod team=a', protocolIn: 'messages' });
    await other?.flushed();
    const reader = createRequestReader({ store, models: () => NO_MODELS, recorder: one, clock: systemClock });
    const countOf = async (query: string, keyId?: string) => {
      const { data } = await reader.summary(new URLSearchParams(query), { ...EVERYBODY, keyId });
      return [data.running, ...data.running_ignores];
    };
    const listed = async (query: string, keyId?: string) =>
      (await reader.list(new URLSearchParams(`open=true&limit=200${query}`), { ...EVERYBODY, keyId })).data.length;
    const noted = await countOf('');
    await one?.flushed();
    const top = await lookAtTop(
      { store, clock: systemClock },
      { filter: { keyId: 'key-1' }, names: EVERYBODY.names, hasPrice: () => true },
    );
    assert.deepEqual(
      {
        noted,
        folded: await countOf(''),
        ofKeys: [await countOf('', 'key-1'), await countOf('', 'key-2'), await countOf('', 'nobody')],
        byNames: [
          await countOf('model=openai/gpt-5&provider=openai&requested=openai/gpt-5&upstream_protocol=chat&tag=team=a'),
          await countOf('protocol=messages'),
          await countOf('tag=team=b'),
        ],
        ignored: await countOf('protocol=chat&status=failed&cost_above=1&fell_back=true'),
        top: [top.running, top.requests.length],
        listed: await listed('', 'key-1'),
        listedByNames: {
          a: await listed(
            '&tag=team=a&model=openai/gpt-5&provider=openai&requested=openai/gpt-5&upstream_protocol=chat',
          ),
          b: await listed('&tag=team=b'),
          messages: await listed('&protocol=messages'),
          ofKey: [await listed('&protocol=messages', 'key-1'), await listed('&protocol=chat', 'key-1')],
        },
      },
      {
        ...{ noted: [1310], folded: [1310], ofKeys: [[210], [1100], [0]], byNames: [[1100], [1100], [0]] },
        ...{ ignored: [210, 'status', 'cost_above', 'fell_back'], top: [210, 200], listed: 200 },
        listedByNames: { a: 200, b: 0, messages: 200, ofKey: [0, 200] },
      },
    );
    if (first) await one?.finish(first, completion());
    // One that has ended is none any more, although its intent is in the store until the end is.
    assert.deepEqual(await countOf('', 'key-1'), [209]);
    await Promise.all([one?.close(0), other?.close(0)]);
  });

  test(`sums are of all requests where these are more than are read (${engine})`, async (context) => {
    const store = await open(context);
    const HOUR_MS = 3_600_000;
    const now = Math.floor(Date.now() / HOUR_MS) * HOUR_MS + HOUR_MS / 2;
    const clock = { now: () => now, monotonic: () => 0 };
    const recorder = createRecorder({ store, instance: 'one', durability: 'batched', log });
    const total = 6000;
    for (let index = 0; index < total; index++) {
      // The first ones are slower, and half a minute apart from the newest.
      const startedAt = now - 60_000 + (index < 1000 ? 0 : 30_000 + index);
      const begun = intent(newRequestId(startedAt), { startedAt });
      const more = {
        ...(index === 0 && { status: 'interrupted' as const, cost: 0n }),
        ...(index === 1 && { usage: { input: 120, output: 30, estimated: true } }),
      };
      await recorder.finish(begun, completion({ total: index < 1000 ? 900 : 90, ...more }));
    }
    // The record of a video task is none of a request.
    await store.call('recordTaskUsage', { row: { ...VIDEO, started_at: now }, held: false });
    await recorder.close(60_000);
    const reader = createRequestReader({ store, models: () => NO_MODELS, recorder: undefined, clock });
    const summaryOf = async (query: string) => (await reader.summary(new URLSearchParams(query), EVERYBODY)).data;
    const all = await summaryOf('');
    assert.deepEqual(
      {
        span: [all.from, all.to],
        counts: [all.requests, all.interrupted, all.unknown_costs, all.input_tokens],
        estimates: [all.estimated_tokens, all.estimated_cost],
        rest: [all.cost, all.complete, all.timed, all.times_estimated],
      },
      {
        span: [new Date(now - HOUR_MS * 1.5).toISOString(), new Date(now + 1).toISOString()],
        counts: [total, 1, 1, total * 120],
        estimates: [150, '0.0015'],
        rest: ['8.9985', true, total, true],
      },
    );
    // Exact ones are 40, 90 and 900.
    for (const [estimate, exact] of [
      [all.first_byte_ms.p95, 40],
      [all.total_ms.p50, 90],
      [all.total_ms.p95, 900],
    ])
      assert.ok(estimate > exact / 2 && estimate < exact * 2, `${estimate} for ${exact}`);
    assert.equal((await summaryOf('model=openai/gpt-5&status=completed')).requests, total - 1);
    const slow = await summaryOf('slower_than=1');
    assert.deepEqual(
      [slow.requests, slow.complete, slow.timed, slow.times_estimated, slow.total_ms.p95],
      [5000, false, 5000, false, 90],
    );
    assert.ok(Date.parse(slow.from) >= now - 30_000, slow.from);
    const top = await lookAtTop({ store, clock }, { filter: {}, names: EVERYBODY.names, hasPrice: () => true });
    assert.ok(top.perMinute > 2 * 2000, String(top.perMinute));

    // Sums count by the begin, in whole hours: these began in the hour before, and ended in this one.
    const hour = now - HOUR_MS / 2;
    const late = createRecorder({ store, instance: 'two', durability: 'batched', log });
    for (let index = 0; index < 3; index++) {
      const startedAt = hour - 60_000 + index;
      await late.finish(intent(newRequestId(startedAt), { startedAt }), completion({ total: 120_000 }));
    }
    await late.close(60_000);
    const begun = async (from: number, to?: number) => {
      const span = to === undefined ? '' : `&started_to=${new Date(to).toISOString()}`;
      const {
        requests,
        complete,
        times_estimated: isEstimated,
        ...sums
      } = await summaryOf(`started_from=${new Date(from).toISOString()}${span}`);
      return { requests, complete, isEstimated, from: Date.parse(sums.from), to: Date.parse(sums.to) };
    };
    const ofSums = { complete: true, isEstimated: true, from: hour, to: now + 1 };
    const ofRecords = { requests: 5000, complete: false, isEstimated: false };
    assert.deepEqual(await begun(hour), { ...ofSums, requests: total });
    assert.deepEqual(await begun(hour, hour + HOUR_MS), { ...ofSums, requests: total });
    assert.deepEqual(await begun(hour - HOUR_MS), { ...ofSums, from: hour - HOUR_MS, requests: total + 3 });
    assert.partialDeepStrictEqual(await begun(hour + 1), ofRecords);
    assert.partialDeepStrictEqual(await begun(hour - HOUR_MS, now - 1), ofRecords);
    assert.partialDeepStrictEqual(await begun(hour - HOUR_MS, hour), {
      requests: 3,
      complete: true,
      isEstimated: false,
    });
  });
});
