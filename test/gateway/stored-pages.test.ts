/** Generated ids, pages and queries of stored responses: every page is the same list, and nothing odd breaks the gateway. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import type { Json } from '../../src/core/json/json.ts';
import { anyText } from '../any-text.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { HEADERS, post, startTestGateway, type TestGateway } from './harness.ts';
import { type ResponsesUpstream, startResponsesUpstream } from './responses-upstream.ts';

const CASES = 25;
/** Time in which the rate of a key is whole again, so that each case has it for itself. Leases of jobs that run last longer. */
const REFILL_MS = 2000;
const clock = createManualClock(Date.now());

let upstream: ResponsesUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startResponsesUpstream({ keeps: false });
  gateway = await startTestGateway(
    `providers: { plain: { type: open-responses, base_url: "${upstream.url}/v1", models: [{ id: m }] } }`,
    { clock },
  );
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

interface Got {
  status: number;
  body: Json;
}

async function got(response: Response): Promise<Got> {
  return { status: response.status, body: await response.json() };
}

async function create(change: Json): Promise<Got> {
  return got(await post(`${gateway.url}/v1/responses`, { model: 'plain/m', ...change }, HEADERS.chat));
}

async function get(path: string): Promise<Got> {
  return got(await fetch(`${gateway.url}/v1/responses/${path}`, { headers: HEADERS.chat }));
}

/** The last response of a chain with so many items in the input of each turn. */
async function chainOf(turns: readonly number[]): Promise<string> {
  let id: string | undefined;
  for (const [turn, items] of turns.entries()) {
    const input = Array.from({ length: items }, (_, index) => ({ role: 'user', content: `${turn}.${index}` }));
    const { status, body } = await create({ input, ...(id !== undefined && { previous_response_id: id }) });
    assert.equal(status, 200, JSON.stringify(body));
    id = body.id;
  }
  return id ?? '';
}

/** All pages, one after the other. */
async function paged(id: string, limit: number, order: string): Promise<string[]> {
  const ids: string[] = [];
  let place = '';
  for (;;) {
    const { status, body } = await get(`${id}/input_items?limit=${limit}&order=${order}${place}`);
    assert.equal(status, 200, JSON.stringify(body));
    const page: string[] = body.data.map((item: Json) => item.id);
    assert.deepEqual([body.first_id, body.last_id], [page.at(0) ?? null, page.at(-1) ?? null]);
    assert.ok(page.length === limit || !body.has_more, 'a page that is not full, and is not the last');
    ids.push(...page);
    if (!body.has_more) return ids;
    place = `&after=${page.at(-1)}`;
  }
}

const anyValue = fc.oneof(
  anyText(40),
  fc.constantFrom(
    '',
    '0',
    '-1',
    '1e3',
    '101',
    'null',
    '__proto__',
    '../x',
    '%00',
    'resp_',
    'msg_unknown',
    'true',
    'desc',
    '🦊',
  ),
);

/** Refused in words, and no fault of the gateway. */
function assertRefused({ status, body }: Got, statuses: readonly number[]): void {
  assert.ok(statuses.includes(status), `${status}: ${JSON.stringify(body)}`);
  assert.equal(typeof body.error.message, 'string');
}

describe('input items of stored responses', () => {
  test('are the same list in pages of every size and order', async () => {
    const turns = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 3 });
    const order = fc.constantFrom('asc', 'desc');
    await fc.assert(
      fc.asyncProperty(turns, fc.integer({ min: 1, max: 40 }), order, async (lengths, limit, direction) => {
        clock.advance(REFILL_MS);
        const id = await chainOf(lengths);
        const { body } = await get(`${id}/input_items?limit=100&order=${direction}`);
        const ids: string[] = body.data.map((item: Json) => item.id);
        // Between the turns of a chain stand the answers.
        assert.equal(ids.length, lengths.reduce((sum, items) => sum + items, 0) + lengths.length - 1);
        assert.equal(new Set(ids).size, ids.length);
        assert.deepEqual(await paged(id, limit, direction), ids);
      }),
      { numRuns: CASES },
    );
  });

  test('before an item are the items just before it', async () => {
    const id = await chainOf([9, 4]);
    const { data } = (await get(`${id}/input_items?limit=100&order=asc`)).body;
    const ids: string[] = data.map((item: Json) => item.id);
    const place = fc.nat({ max: ids.length - 1 });
    await fc.assert(
      fc.asyncProperty(place, fc.integer({ min: 1, max: 20 }), async (at, limit) => {
        clock.advance(REFILL_MS);
        const { body } = await get(`${id}/input_items?limit=${limit}&order=asc&before=${ids[at]}`);
        const from = Math.max(0, at - limit);
        assert.deepEqual([body.data.map((item: Json) => item.id), body.has_more], [ids.slice(from, at), from > 0]);
      }),
      { numRuns: CASES },
    );
  });

  test('are given or refused in words, whatever the query is', async () => {
    const id = await chainOf([3]);
    const names = fc.constantFrom('limit', 'order', 'after', 'before', 'include', 'include[]', 'novel', '');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(names, anyValue), { maxLength: 4 }), async (pairs) => {
        clock.advance(REFILL_MS);
        const answer = await get(`${id}/input_items?${new URLSearchParams(pairs as [string, string][])}`);
        if (answer.status === 200) assert.equal(answer.body.object, 'list');
        else assertRefused(answer, [400]);
      }),
      { numRuns: CASES * 2 },
    );
  });
});

test('ids of any kind are unknown, in every place that takes one', async () => {
  await chainOf([1]);
  upstream.calls.length = 0;
  await fc.assert(
    fc.asyncProperty(anyValue, async (id) => {
      clock.advance(REFILL_MS);
      const name = encodeURIComponent(id.toWellFormed());
      if (name !== '' && name !== '..' && name !== '.') {
        assertRefused(await get(name), [404]);
        assertRefused(await get(`${name}/input_items`), [404]);
      }
      assertRefused(await create({ input: 'x', previous_response_id: id }), [400]);
      assertRefused(await create({ input: [{ type: 'item_reference', id }] }), [400]);
    }),
    { numRuns: CASES },
  );
  assert.equal(upstream.calls.length, 0);
  assert.deepEqual(
    gateway.log.filter(({ level, error }) => level >= 50 || error === 'internal_error'),
    [],
  );
});
