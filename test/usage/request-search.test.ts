/** Searches of records of requests: pages without gap or double, sparse ones by the hours of the sums, and what ended since. */

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { newRequestId } from '../../src/core/request-id.ts';
import type { RequestFilter } from '../../src/store/operations/requests.ts';
import type { Store } from '../../src/store/store.ts';
import { encodeEnd } from '../../src/usage/journal/records.ts';
import type { Completion, Intent } from '../../src/usage/record.ts';
import { newestRequests, requestsSince, searchRequests } from '../../src/usage/request-search.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { forEachStore } from '../store/stores.ts';
import { completion, intent, NOON } from './records.ts';

const HOUR_MS = 3_600_000;
const EVER = { from: 0, to: Number.MAX_SAFE_INTEGER };

interface Ended {
  at: number;
  request?: Partial<Intent>;
  end?: Partial<Completion>;
}

let batches = 0;

async function record(store: Store, ended: readonly Ended[]): Promise<string[]> {
  const ids = ended.map(({ at }) => newRequestId(at));
  const rows = ended.map(({ at, request, end }, index) =>
    encodeEnd(
      intent(ids[index] ?? '', { startedAt: at, ...request }),
      completion({ total: 0, upstreamId: undefined, ...end }),
    ),
  );
  batches += 1;
  const position = { segment: 1, offset: batches, oldest: 1 };
  await store.call('storeJournalBatch', { journal: 'journal', position, records: rows });
  return ids;
}

forEachStore((engine, openStore) => {
  describe(`a search (${engine})`, () => {
    const clock = createManualClock(NOON);

    async function all(store: Store, filter: RequestFilter, limit: number): Promise<string[]> {
      const ids: string[] = [];
      let after: string | undefined;
      do {
        const page = await searchRequests({ filter, ...EVER, limit, after }, { store, clock });
        ids.push(...page.rows.map(({ id }) => String(id)));
        after = page.next;
      } while (after !== undefined);
      return ids;
    }

    test('gives each record once, newest first, also those that ended in the same millisecond', async (context: TestContext) => {
      const store = await openStore(context);
      const ids = await record(
        store,
        Array.from({ length: 25 }, (_, index) => ({ at: NOON + Math.floor(index / 5) })),
      );
      const found = await all(store, {}, 4);
      assert.equal(new Set(found).size, 25);
      assert.deepEqual(found, await all(store, {}, 100));
      assert.deepEqual(new Set(found.slice(0, 5)), new Set(ids.slice(20)));
    });

    test('finds by every filter', async (context) => {
      const store = await openStore(context);
      const plain = Array.from({ length: 9 }, (_, index) => ({
        at: NOON + index,
        request: { tags: 'env=prod team=search' },
      }));
      await record(store, plain);
      const [special = ''] = await record(store, [
        {
          at: NOON + 5,
          request: { keyId: 'other', tags: 'a-team=ads env=prod', model: 'asked', protocolIn: 'messages' },
          end: {
            endpoint: { provider: 'local', model: 'small' },
            status: 'failed',
            errorCode: 'timeout',
            usage: { input: 120, output: 30, estimated: true },
            cost: 2_000_000_000n,
            attempts: 2,
            total: 10_000,
            trace: '{"s":"a \\"session\\"","dropped":["top_k"],"a":[]}',
          },
        },
      ]);
      const filters: RequestFilter[] = [
        { keyId: 'other' },
        { model: 'local/small' },
        { requested: 'asked' },
        { provider: 'local' },
        { protocol: 'messages' },
        { status: 'failed' },
        { code: 'timeout' },
        { costAbove: 1_999_999_999n },
        { slowerThan: 9999 },
        { hasDropped: true },
        { fellBack: true },
        { hasFailed: true },
        { session: 'a "session"' },
        { isEstimated: true },
        { withoutTag: 'team' },
        { keyId: 'other', model: 'local/small', provider: 'local' },
      ];
      for (const filter of filters)
        assert.deepEqual(await all(store, filter, 10), [special], Object.keys(filter).join());
      assert.deepEqual(await all(store, { keyId: 'nobody' }, 10), []);
      assert.deepEqual(await all(store, { withoutTag: 'env' }, 10), []);
      assert.deepEqual(await all(store, { session: 'a' }, 10), []);
      assert.deepEqual(await all(store, { costAbove: 2_000_000_000n }, 10), []);
    });

    test('reads only the hours in which the sums have a key, however long ago', async (context) => {
      const store = await openStore(context);
      const rare = { keyId: 'rare' };
      const ids: string[] = [];
      for (const hours of [0, 700, 701, 5000]) {
        ids.push(
          ...(await record(store, [
            { at: NOON - hours * HOUR_MS + 59 * 60_000, request: rare, end: { total: 90 * 60_000 } },
          ])),
        );
      }
      await record(
        store,
        Array.from({ length: 50 }, (_, index) => ({ at: NOON - index * HOUR_MS })),
      );
      const calls: string[] = [];
      const counting: Pick<Store, 'call'> = {
        call(name, parameters) {
          calls.push(name);
          return store.call(name, parameters);
        },
      };
      const page = await searchRequests({ filter: rare, ...EVER, limit: 10 }, { store: counting, clock });
      assert.deepEqual(
        page.rows.map(({ id }) => id),
        ids,
      );
      assert.ok(calls.length < 12, calls.join());
      assert.deepEqual(await all(store, rare, 1), ids);
    });

    test('that finds nothing for long says how far it came, and goes on from there', async (context) => {
      const store = await openStore(context);
      for (let first = 0; first < 9000; first += 1000) {
        await record(
          store,
          Array.from({ length: 1000 }, (_, index) => ({ at: NOON + first + index })),
        );
      }
      const [slow] = await record(store, [{ at: NOON - 1, end: { total: 1, finish: 'length', errorCode: 'timeout' } }]);
      // Each look at the clock takes longer than a search may.
      let elapsed = 0;
      const slowClock = { now: () => NOON, monotonic: () => (elapsed += 1000) };
      const pages = [];
      let after: string | undefined;
      do {
        const page = await searchRequests(
          { filter: { code: 'timeout' }, ...EVER, limit: 5, after },
          { store, clock: slowClock },
        );
        pages.push(page);
        after = page.next;
      } while (after !== undefined);
      assert.ok(pages.length > 2 && (pages[0]?.searchedTo ?? 0) > NOON);
      assert.deepEqual(
        pages.flatMap(({ rows }) => rows.map(({ id }) => id)),
        [slow],
      );
    });

    test('of what is new gives each record once, also one that is stored after others that ended later', async (context) => {
      const store = await openStore(context);
      const options = { store, clock };
      const before = await record(store, [{ at: NOON }, { at: NOON + 1 }]);
      const first = await newestRequests({ filter: {}, ...EVER, limit: 10 }, options);
      assert.deepEqual(
        first.rows.map(({ id }) => id),
        before.toReversed(),
      );
      const seen: unknown[] = [];
      let live = first.live ?? '';
      const look = async () => {
        const page = await requestsSince({ filter: {}, live }, options);
        live = page.live;
        seen.push(...page.rows.map(({ id }) => id));
      };
      await look();
      const expected: string[] = [];
      for (let second = 1; second <= 8; second++) {
        expected.push(...(await record(store, [{ at: NOON + second * 1000 }])));
        await look();
        // A long request of another gateway, whose commit is late.
        expected.push(...(await record(store, [{ at: NOON + second * 1000 - 3000, end: { total: 500 } }])));
        await look();
        await look();
      }
      assert.deepEqual(seen, expected);
    });

    test('of what is new loses nothing among many', async (context) => {
      const store = await openStore(context);
      const options = { store, clock };
      await record(
        store,
        Array.from({ length: 30 }, (_, index) => ({ at: NOON + index })),
      );
      const first = await newestRequests({ filter: {}, ...EVER, limit: 10 }, options);
      const expected = await record(
        store,
        Array.from({ length: 2500 }, (_, index) => ({ at: NOON + 100 + index })),
      );
      let live = first.live ?? '';
      const seen: unknown[] = [];
      for (;;) {
        const page = await requestsSince({ filter: {}, live }, options);
        live = page.live;
        if (page.rows.length === 0) break;
        seen.push(...page.rows.map(({ id }) => id));
      }
      assert.deepEqual(seen, expected);
    });

    test('of what is new has at most so many as were asked for, and is full while there are more', async (context) => {
      const store = await openStore(context);
      const options = { store, clock };
      const ended = (first: number, length: number) =>
        record(
          store,
          Array.from({ length }, (_, index) => ({ at: NOON + first + index })),
        );
      await ended(0, 30);
      // What is older than its page, although it ended within the same seconds, is on the next page.
      const first = await newestRequests({ filter: {}, ...EVER, limit: 10 }, options);
      const expected = await ended(100, 25);
      let live = first.live ?? '';
      const seen: unknown[] = [];
      const counts: number[] = [];
      for (let look = 0; look < 5; look++) {
        const page = await requestsSince({ filter: {}, live, limit: 10 }, options);
        live = page.live;
        counts.push(page.rows.length);
        seen.push(...page.rows.map(({ id }) => id));
      }
      assert.deepEqual({ counts, seen }, { counts: [10, 10, 5, 0, 0], seen: expected });
    });

    test('refuses cursors that it did not give', async (context) => {
      const store = await openStore(context);
      for (const after of [
        'x',
        'e30',
        Buffer.from('[1]').toString('base64url'),
        Buffer.from('[1,"\\u0000"]').toString('base64url'),
      ]) {
        const search = { filter: {}, ...EVER, limit: 1 };
        await assert.rejects(searchRequests({ ...search, after }, { store, clock }), {
          code: 'invalid_request',
          param: 'after',
        });
      }
      await assert.rejects(requestsSince({ filter: {}, live: 'x' }, { store, clock }), {
        code: 'invalid_request',
        param: 'live',
      });
    });
  });
});
