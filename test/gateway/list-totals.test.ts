/** Search, totals and cursors of videos, webhooks, conversations, the audit log and sessions, on both engines. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import type { Store } from '../../src/store/store.ts';
import { encodeEnd } from '../../src/usage/journal/records.ts';
import { providePostgres, type TestDatabase } from '../store/postgres-server.ts';
import { completion, intent, NOON } from '../usage/records.ts';
import { ADMIN_CONFIG, ADMIN_TOKEN, askAdmin } from './admin-client.ts';
import { KEY, sendRaw, startTestGateway, type TestGateway } from './harness.ts';
import { createVideoClock, videoClient } from './video-client.ts';

/** More than a total counts. */
const MANY = 10_005;
/** Few enough that a busy machine writes them within the time of one operation of the store. */
const WRITTEN_AT_ONCE = 250;

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(engine, () => {
    let database: TestDatabase | undefined;
    let gateway: TestGateway;
    let store: Store;
    let hash = '';
    const ids: string[] = [];

    before(async () => {
      database = engine === 'postgres' ? await providePostgres() : undefined;
      gateway = await startTestGateway(ADMIN_CONFIG, {
        clock: createVideoClock(),
        wrapStore(opened) {
          store = opened;
          return opened;
        },
        ...(database && { postgres: database.url }),
      });
      hash = (await askAdmin(gateway.adminUrl, 'GET', '/keys?name=test')).body.data[0].hash;
      const client = videoClient(gateway);
      for (let index = 0; index < 5; index++) {
        const prompt = index % 2 === 0 ? `A ÄPFEL tree ${index}` : `A boat ${index}`;
        ids.push((await client.create({ prompt, seed: index })).id);
        gateway.clock?.advance(1000);
      }
    });
    after(async () => {
      await gateway.close();
      await database?.close();
    });

    const list = async (path: string): Promise<Json> => {
      const { status, body } = await askAdmin(gateway.adminUrl, 'GET', path);
      assert.equal(status, 200, JSON.stringify(body));
      return body;
    };

    /** All pages of two, with the total of the first one. */
    async function pages(path: string): Promise<{ rows: Json[]; totals: unknown[] }> {
      const rows: Json[] = [];
      const totals: unknown[] = [];
      for (let cursor = ''; ; ) {
        const { data, next, total, total_complete: isComplete } = await list(`${path}&limit=2${cursor}`);
        rows.push(...data);
        totals.push(total, isComplete);
        if (next === null) return { rows, totals };
        cursor = `&after=${encodeURIComponent(next)}`;
      }
    }

    test('videos are found by their id, model and prompt, and counted', async () => {
      const { rows, totals } = await pages('/videos?search=%C3%A4pfel');
      assert.deepEqual(
        rows.map(({ id }) => id),
        [ids[4], ids[2], ids[0]],
      );
      assert.deepEqual(totals.slice(0, 4), [3, true, undefined, undefined]);
      assert.equal((await pages(`/videos?search=${ids[1]}`)).rows[0].id, ids[1]);
      assert.deepEqual((await list('/videos?search=SANDBOX')).total, 5);
      assert.deepEqual((await list('/videos?search=SANDBOX&status=cancelled')).total, 0);
      assert.deepEqual((await list('/videos?limit=1')).total, 5);
      assert.deepEqual((await list('/videos?search=nothing-like-that')).data, []);
      // A page of a search looks at a bounded number of tasks, and says where it goes on.
      const search = { limit: 9, order: 'desc', depth: 2, search: 'boat' } as const;
      const first = await store.call('searchVideos', search);
      assert.deepEqual([first?.tasks.map(({ id }) => id), first?.next], [[ids[3]], ids[3]]);
      const second = await store.call('searchVideos', { ...search, after: ids[3] });
      assert.deepEqual([second?.tasks.map(({ id }) => id), second?.next], [[ids[1]], ids[1]]);
    });

    test('videos of a time, with and without a search, and their sums, for operators and for the holder', async () => {
      const { data } = await list('/videos');
      const [from = '', to = ''] = [ids[1], ids[3]].map((id) =>
        new Date(1000 * data.find((one: Json) => one.id === id).created_at).toISOString(),
      );
      const span = new URLSearchParams({ from, to });
      const { rows, totals } = await pages(`/videos?${span}`);
      assert.deepEqual(
        [rows.map(({ id }) => id), totals.slice(0, 2)],
        [
          [ids[2], ids[1]],
          [2, true],
        ],
      );
      const found = await pages(`/videos?search=boat&${span}`);
      assert.deepEqual([found.rows.map(({ id }) => id), found.totals.slice(0, 2)], [[ids[1]], [1, true]]);
      assert.equal((await list(`/videos?${new URLSearchParams({ from: to })}`)).total, 2);
      assert.equal((await list(`/videos/summary?${span}`)).data.tasks, 2);
      const headers = { authorization: `Bearer ${KEY}` };
      const own = async (path: string) =>
        JSON.parse((await sendRaw(gateway.url, { method: 'GET', path: `${path}?${span}`, headers })).text).data;
      assert.deepEqual(
        (await own('/v1/videos')).map(({ id }: Json) => id),
        [ids[2], ids[1]],
      );
      assert.equal((await own('/v1/self/videos/summary')).tasks, 2);
      for (const [path, param] of [
        ['/videos?from=then', 'from'],
        ['/deliveries?to=then', 'to'],
        [`/videos?${new URLSearchParams({ from: to, to: from })}`, 'from'],
      ] as const) {
        const { status, body } = await askAdmin(gateway.adminUrl, 'GET', path);
        assert.deepEqual([status, body.error.param], [400, param]);
      }
    });

    test('the holder of a key searches and counts its videos', async () => {
      const ask = async (query: string, key = KEY) => {
        const headers = { authorization: `Bearer ${key}` };
        return JSON.parse((await sendRaw(gateway.url, { method: 'GET', path: `/v1/videos?${query}`, headers })).text);
      };
      const found = await ask('search=boat&limit=1&total=true');
      assert.deepEqual([found.data[0].id, found.has_more, found.total], [ids[3], true, 2]);
      const rest = await ask(`search=boat&limit=1&after=${found.last_id}`);
      assert.deepEqual([rest.data[0].id, rest.total], [ids[1], undefined]);
      const { body } = await askAdmin(gateway.adminUrl, 'POST', '/keys', { name: 'stranger' });
      const none = await ask('search=boat&total=true', body.key);
      assert.deepEqual([none.data, none.total], [[], 0]);
    });

    test('webhooks are found by task and host, and beyond ten thousand the total is a part', async () => {
      const notices = Array.from({ length: MANY }, (_, index) => ({
        id: `task-${index}-completed`,
        taskId: `task-${index}`,
        owner: hash,
        url: `https://${index % 2 === 0 ? 'even' : 'odd'}.example/hook`,
        body: Buffer.from('{}'),
        createdAt: 1_700_000_000_000 + index,
      }));
      for (let start = 0; start < MANY; start += WRITTEN_AT_ONCE) {
        await store.call('addNotices', { notices: notices.slice(start, start + WRITTEN_AT_ONCE) });
      }
      const even = await list('/deliveries?search=EVEN.ex&limit=1');
      assert.deepEqual([even.total, even.total_complete], [5000, false]);
      assert.equal(even.data[0].task_id, `task-${MANY - 1}`);
      assert.deepEqual((await list('/deliveries?search=task-10001-')).data.length, 1);
      assert.deepEqual((await list('/deliveries')).total, 10_000);
      const iso = (index: number) => new Date(1_700_000_000_000 + index).toISOString();
      const span = new URLSearchParams({ from: iso(17), to: iso(20) });
      const within = await pages(`/deliveries?${span}`);
      assert.deepEqual(
        [within.rows.map(({ task_id: task }) => task), within.totals.slice(0, 2)],
        [
          ['task-19', 'task-18', 'task-17'],
          [3, true],
        ],
      );
      const headers = { authorization: `Bearer ${KEY}` };
      const path = `/v1/self/deliveries?host=odd.example&${span}`;
      const own = JSON.parse((await sendRaw(gateway.url, { method: 'GET', path, headers })).text);
      assert.deepEqual([own.data.length, own.total], [2, 2]);
      // Beyond the rows of one page.
      const far = await pages('/deliveries?search=task-17-');
      assert.deepEqual(
        far.rows.map(({ task_id: task }) => task),
        ['task-17'],
      );
    });

    test('conversations are counted, of the requests of a page and of five thousand more', async () => {
      // One is in three requests, and may be on both sides of the end of a page.
      const records = Array.from({ length: 12_000 }, (_, index) => {
        const trace = JSON.stringify({ s: `"agent" \\ ${Math.floor(index / 3)}`, a: [] });
        const request = intent(`r-${String(index).padStart(5, '0')}`, { keyId: hash, startedAt: NOON + index });
        const status = index % 2 === 0 ? 'completed' : 'failed';
        return encodeEnd(request, completion({ status, total: 0, trace, upstreamId: undefined }));
      });
      for (let start = 0; start < records.length; start += WRITTEN_AT_ONCE) {
        const position = { segment: 1, offset: start + 1, oldest: 1 };
        const batch = records.slice(start, start + WRITTEN_AT_ONCE).join();
        await store.call('storeJournalBatch', { journal: 'test', position, records: [batch] });
      }
      const iso = (index: number) => new Date(NOON + index).toISOString();
      const countsOf = async (query: Record<string, string>) => {
        const body = await list(
          `/requests/sessions?${new URLSearchParams({ from: iso(0), to: iso(12_000), ...query })}`,
        );
        return { counts: [body.data.length, body.total, body.total_complete], next: body.next };
      };
      const { counts, next } = await countsOf({});
      assert.deepEqual(counts, [1667, 3334, false]);
      assert.deepEqual((await countsOf({ after: next })).counts, [1668, undefined, undefined]);
      assert.deepEqual((await countsOf({ from: iso(6990) })).counts, [1667, 1670, true]);
      assert.deepEqual((await countsOf({ from: iso(11_990) })).counts, [4, 4, true]);
      assert.deepEqual((await countsOf({ status: 'failed' })).counts, [3333, 4000, true]);
      assert.deepEqual((await countsOf({ started_from: iso(6990) })).counts, [1667, 1670, true]);
      assert.deepEqual((await countsOf({ session: '"agent" \\ 9' })).counts, [1, 1, true]);
      const path = `/v1/self/requests/sessions?${new URLSearchParams({ from: iso(0), to: iso(12_000) })}`;
      const headers = { authorization: `Bearer ${KEY}` };
      const own = JSON.parse((await sendRaw(gateway.url, { method: 'GET', path, headers })).text);
      assert.deepEqual([own.total, own.total_complete], [3334, false]);
    });

    test('the audit log is found by action, actor and subject, and counted', async () => {
      for (const name of ['one', 'two', 'three']) await askAdmin(gateway.adminUrl, 'POST', '/keys', { name });
      const { rows, totals } = await pages('/audit?search=KEY.create');
      assert.equal(rows.length, totals[0]);
      assert.ok(rows.length >= 3 && rows.every(({ action }) => action === 'key.create'));
      assert.equal((await list(`/audit?search=${rows[0].subject.slice(0, 20)}`)).total, 1);
      assert.equal((await list('/audit?search=nobody-did')).total, 0);
      const all = await pages('/audit?search=a');
      assert.equal(new Set(all.rows.map(({ id }) => id)).size, all.totals[0]);
    });

    test('sessions have cursors and a total', async () => {
      const headers = { 'content-type': 'application/json', 'x-polygate-ui': '1', origin: gateway.url };
      const open = async (body: object) => {
        const sent = { method: 'POST', path: '/ui/session', headers, body: JSON.stringify(body) };
        return String((await sendRaw(gateway.url, sent)).headers['set-cookie']).split(';', 1)[0] ?? '';
      };
      const cookie = await open({ token: ADMIN_TOKEN });
      for (let count = 0; count < 4; count++) await open({ key: KEY });
      const seen: string[] = [];
      for (let after = ''; ; ) {
        const path = `/admin/v1/sessions?limit=2${after}`;
        const { data, total, next } = JSON.parse(
          (await sendRaw(gateway.url, { method: 'GET', path, headers: { cookie } })).text,
        );
        seen.push(...data.map(({ id }: Json) => id));
        assert.equal(total, 5);
        if (next === null) break;
        after = `&after=${encodeURIComponent(next)}`;
      }
      assert.deepEqual([seen.length, new Set(seen).size], [5, 5]);
    });
  });
}
