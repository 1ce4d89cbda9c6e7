/** Sums by the minute: those of the records, of requests as of video tasks, equal to the sums by the hour. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { newRequestId } from '../../src/core/request-id.ts';
import type { Row } from '../../src/store/operation.ts';
import type { Store } from '../../src/store/store.ts';
import type { UsageRow } from '../../src/store/usage-row.ts';
import { createRecorder } from '../../src/usage/recorder.ts';
import { readUseQuery, USE_DIMENSIONS } from '../../src/usage/use-query.ts';
import { reportUse } from '../../src/usage/use-report.ts';
import { forEachStore } from '../store/stores.ts';
import { RAW_SQL, rawSql } from './raw-sql.ts';
import { completion, intent, NOON } from './records.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DIMENSIONS = ['model', 'provider', 'key', 'protocol', 'status', 'tags'] as const;
const NO_CONTEXT = { names: new Map(), hasPrice: () => false };
const log = pino({ level: 'silent' });

/** Requests over two hours, whose ids are from before, with or after their beginning, and a video task. */
async function fill(store: Store): Promise<void> {
  const recorder = createRecorder({ store, instance: 'one', durability: 'batched', log });
  for (let index = 0; index < 120; index += 1) {
    const startedAt = NOON + index * MINUTE_MS + (index % 3) * 29_999;
    const made = startedAt + ((index % 5) - 2) * 20 * MINUTE_MS;
    const request = intent(index % 4 === 0 ? `old-${index}` : newRequestId(made), {
      startedAt,
      keyId: `key-${index % 2}`,
      tags: ['', 'team=search', 'env=prod team=ads'][index % 3] ?? '',
      protocolIn: index % 2 ? 'chat' : 'messages',
    });
    const status = index % 7 === 0 ? ('failed' as const) : ('completed' as const);
    await recorder.finish(request, completion({ cost: BigInt(index) * 10n ** 14n + 1n, status }));
  }
  await recorder.close(10_000);
  const video: UsageRow & { revision: number } = {
    ...{ id: 'video', started_at: NOON + 90_000, key_id: 'key-1', model: 'a/wan', endpoint_provider: 'a' },
    ...{ endpoint_model: 'wan', protocol_in: 'videos', protocol_out: 'videos', stream: 0, status: 'completed' },
    ...{ error_code: null, finish: null, estimated: 0, attempts: 1, input_tokens: 0, output_tokens: 0 },
    ...{ cached_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0, audio_tokens: 0, searches: 0 },
    ...{ cost: 7n, first_byte_ms: null, total_ms: 9, upstream_id: null, tags: 'team=ads', revision: 1 },
  };
  await store.call('recordTaskUsage', { row: video, held: false });
}

forEachStore((name, open) => {
  test(`are those of the records, by every dimension and filter (${name})`, async (context) => {
    const store = await open(context);
    await fill(store);
    const minutes = await store.call('usageMinutes', {
      filter: {},
      by: ['minute'],
      from: NOON / MINUTE_MS,
      to: NOON / MINUTE_MS + 3,
    });
    assert.deepEqual(
      minutes.map(({ minute, requests, failures, input_tokens, cost }) => [
        Number(minute) - NOON / MINUTE_MS,
        ...[requests, failures, input_tokens, cost],
      ]),
      [
        [0, 1, 1, 120, '1'],
        [1, 2, 0, 120, '100000000000008'],
        [2, 1, 0, 120, '200000000000001'],
      ],
    );
    for (const filter of [{}, { tag: 'team=ads' }, { keyId: 'key-1', status: 'failed' }, { model: 'a/wan' }]) {
      for (const dimension of [
        [],
        ['tags', 'status'],
        ...DIMENSIONS.map((one) => [one]),
      ] as (typeof DIMENSIONS)[number][][]) {
        const [from, to] = [NOON / HOUR_MS, NOON / HOUR_MS + 2];
        const hours = await store.call('usageSums', { from, to, by: dimension, filter });
        const own = await store.call('usageMinutes', { from: from * 60, to: to * 60, by: dimension, filter });
        const inOrder = (rows: Row[]) => rows.map((row) => JSON.stringify(row, Object.keys(row).toSorted())).toSorted();
        assert.deepEqual(inOrder(own), inOrder(hours), `${dimension} ${JSON.stringify(filter)}`);
      }
    }
  });

  test(`are reported for a day at most, by default of the last hour, and compared (${name})`, async (context) => {
    const store = await open(context);
    await fill(store);
    const now = NOON + HOUR_MS + 30_000;
    const read = (text: string) => readUseQuery(new URLSearchParams(text), now, USE_DIMENSIONS);
    const report = await reportUse(store, read('by=minute,tag:team'), NO_CONTEXT);
    assert.deepEqual([report.from, report.to], ['2026-11-18T12:01:00.000Z', '2026-11-18T13:01:00.000Z']);
    assert.deepEqual([report.data[0]?.minute, report.data[0]?.['tag:team']], ['2026-11-18T12:01:00.000Z', 'ads']);
    assert.equal(report.total.requests, 61);
    const span = 'from=2026-11-18T12:30Z&to=2026-11-18T12:45Z';
    const compared = await reportUse(store, read(`by=minute&compare=true&${span}`), NO_CONTEXT);
    assert.deepEqual([compared.total.requests, compared.before?.total.requests], [15, 15]);
    assert.equal(compared.before?.from, '2026-11-18T12:15:00.000Z');
    const zoned = await reportUse(store, read(`by=minute&zone=Asia/Kathmandu&${span}`), NO_CONTEXT);
    assert.equal(zoned.data[0]?.minute, '2026-11-18T12:30:00.000Z');
    const day = 'from=2026-11-17T13:00:00Z&to=2026-11-18T13:00:00Z';
    assert.equal(read(`by=minute&${day}`).to - read(`by=minute&${day}`).from, 24 * HOUR_MS);
    assert.throws(() => read('by=minute&from=2026-11-17T12:59:59Z&to=2026-11-18T13:00:00Z'), {
      param: 'from',
      message: 'from must be 1440 minutes before to, by the minute, at most.',
    });
    assert.throws(() => read('by=minute,hour'), { param: 'by' });
  });

  test(`of more than half a million requests are refused (${name})`, { timeout: 120_000 }, async (context) => {
    const store = await open(context, RAW_SQL);
    // In parts, none of which comes near the time that a statement may take.
    for (let first = 0; first <= 500_000; first += 50_000) {
      await rawSql(
        store,
        `INSERT INTO usage_request (at, id, started_at, key_id, model, endpoint_provider, endpoint_model, protocol_in, protocol_out,
           stream, status, estimated, attempts, input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens,
           audio_tokens, searches, cost, total_ms)
         WITH RECURSIVE many (n) AS (SELECT ${first} UNION ALL SELECT n + 1 FROM many WHERE n < ${Math.min(first + 49_999, 500_000)})
         SELECT ${NOON} + n, CAST(n AS text), ${NOON} + n, 'k', 'm', 'p', 'm', 'chat', 'chat', 0, 'completed', 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1
         FROM many`,
      );
    }
    const sums = (to: number) =>
      store.call('usageMinutes', { filter: {}, by: [], from: NOON / MINUTE_MS, to: NOON / MINUTE_MS + to });
    const message = 'from must be later, or to earlier: more than 500000 requests are not summed up by the minute.';
    await assert.rejects(sums(10), { code: 'invalid_request', param: 'from', message });
    assert.equal((await sums(8))[0]?.requests, 480_000);
  });
});
