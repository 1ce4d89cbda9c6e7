/** Use and cost for the dashboard: sums that equal the records, in time zones, with the rest of a top list, and as CSV. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { problems } from '../../src/core/json/check.ts';
import type { Json } from '../../src/core/json/json.ts';
import { use } from '../../src/http/use.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { KEY, post, sendRaw, startTestGateway, type TestGateway } from './harness.ts';

const TOKEN = 'admin-token-0123456789-0123456789';
const FORMULA_KEY = 'sk-formula-gateway-key-0123456789';
const HOUR_MS = 3_600_000;
/** Half an hour before a day of 25 hours in Berlin. */
const START = Date.parse('2026-10-24T21:30:00Z');
const clock = createManualClock(START);
const RECORDS = 24;

let gateway: TestGateway;

before(async () => {
  const price = (prompt: string) =>
    `{ provider: sandbox, model: echo, pricing: { prompt: "${prompt}", completion: "0" } }`;
  gateway = await startTestGateway(
    `admin: { token: ${TOKEN}, port: 0 }
providers:
  cheap: { type: sandbox }
  dear: { type: sandbox }
models:
  house/cheap: { endpoints: [${price('0.000001').replace('sandbox', 'cheap')}] }
  house/dear: { endpoints: [${price('0.000003').replace('sandbox', 'dear')}] }`,
    { clock, keys: [`{ name: '=HYPERLINK("x"),1', key: ${FORMULA_KEY} }`] },
  );
  for (let index = 0; index < RECORDS; index++) {
    const model = index % 3 === 0 ? 'house/dear' : 'house/cheap';
    const authorization = `Bearer ${index % 4 === 0 ? FORMULA_KEY : KEY}`;
    const request = { model, messages: [{ role: 'user', content: 'one two three four' }] };
    await (await post(`${gateway.url}/v1/chat/completions`, request, { authorization })).text();
    clock.advance(HOUR_MS);
  }
});
after(() => gateway.close());

async function get(path: string): Promise<{ status: number; text: string; headers: NodeJS.Dict<string | string[]> }> {
  return sendRaw(gateway.adminUrl, {
    method: 'GET',
    path: `/admin/v1${path}`,
    headers: { authorization: `Bearer ${TOKEN}` },
  });
}

async function report(query: string): Promise<Json> {
  const { status, text } = await get(`/usage?${query}`);
  assert.equal(status, 200, text);
  const body = JSON.parse(text);
  assert.deepEqual(problems(use, body), []);
  return body;
}

async function records(): Promise<Json[]> {
  return JSON.parse((await get('/requests?limit=200')).text).data;
}

/** Exact sum of USD with twelve decimals. */
function add(costs: string[]): bigint {
  return costs.reduce((sum, cost) => {
    const [whole = '0', fraction = ''] = cost.split('.');
    return sum + BigInt(whole + fraction.padEnd(12, '0'));
  }, 0n);
}

describe('the sums', () => {
  for (const [by, nameOf] of [
    ['key', (record: Json) => record.key_hash],
    ['model', (record: Json) => record.model],
    ['provider', (record: Json) => record.provider],
    ['hour', (record: Json) => `${record.started_at.slice(0, 13)}:00:00.000Z`],
    ['day', (record: Json) => record.started_at.slice(0, 10)],
    ['key,model', (record: Json) => `${record.key_hash} ${record.model}`],
  ] as [string, (record: Json) => string][]) {
    test(`by ${by} are those of the records, to the last digit`, async () => {
      const { data, total } = await report(`by=${by}`);
      const all = await records();
      assert.equal(all.length, RECORDS);
      const groups = Map.groupBy(all, nameOf);
      assert.equal(data.length, groups.size);
      for (const row of data) {
        const own =
          groups.get(
            by
              .split(',')
              .map((name) => row[name])
              .join(' '),
          ) ?? [];
        assert.equal(row.requests, own.length);
        assert.equal(
          row.input_tokens,
          own.reduce((sum: number, one) => sum + one.input_tokens, 0),
        );
        assert.equal(add([row.cost]), add(own.map(({ cost }) => cost)));
      }
      assert.equal(add([total.cost]), add(all.map(({ cost }) => cost)));
    });
  }

  test('have names of keys, and filters', async () => {
    const { data } = await report('by=key');
    assert.deepEqual(new Set(data.map(({ key_name }: Json) => key_name)), new Set(['test', '=HYPERLINK("x"),1']));
    const one = await report('by=model&key=config:test&provider=dear');
    assert.deepEqual(
      one.data.map(({ model }: Json) => model),
      ['dear/echo'],
    );
    assert.equal(
      one.total.requests,
      (await records()).filter((record) => record.key_hash === 'config:test' && record.provider === 'dear').length,
    );
    assert.deepEqual((await report('key=nobody')).data, []);
  });
});

describe('a time zone', () => {
  test('has days of its own, also where the clocks change', async () => {
    const { data, zone } = await report('by=day&zone=Europe/Berlin');
    assert.equal(zone, 'Europe/Berlin');
    const days = Map.groupBy(await records(), ({ started_at }) =>
      new Intl.DateTimeFormat('sv', { timeZone: 'Europe/Berlin' }).format(Date.parse(started_at)),
    );
    const expected = [...days].map(([day, own]) => [day, own.length]).toSorted();
    assert.deepEqual(
      data.map(({ day, requests }: Json) => [day, requests]),
      expected,
    );
    assert.deepEqual(expected, [
      ['2026-10-24', 1],
      ['2026-10-25', 23],
    ]);
  });

  test('has weeks and months', async () => {
    const week = await report('by=week');
    assert.deepEqual(
      week.data.map((row: Json) => row.week),
      ['2026-10-19'],
    );
    assert.deepEqual(
      (await report('by=month')).data.map((row: Json) => row.month),
      ['2026-10'],
    );
    assert.equal((await report('by=month&zone=Pacific/Kiritimati')).total.requests, RECORDS);
  });
});

describe('a top list', () => {
  test('has the others as one row, and loses nothing', async () => {
    const { data, total } = await report('by=model&top=1');
    const [first, others] = data.toSorted(
      (one: Json, other: Json) => Number(one.other ?? 0) - Number(other.other ?? 0),
    );
    assert.deepEqual([first.model, others.model, others.other], ['dear/echo', null, true]);
    assert.equal(add([first.cost, others.cost]), add([total.cost]));
    const daily = await report('by=day,model,key&top=1');
    assert.equal(add(daily.data.map(({ cost }: Json) => cost)), add([total.cost]));
  });

  test('has two levels, each with the others last, of one moment and with nothing lost', async () => {
    const query = 'by=day,model&subgroup=key&top=1';
    const { data, subgroups, total, subgroup } = await report(query);
    assert.equal(subgroup, 'key');
    const all = await records();
    const exact = (rows: Json[]) => [
      rows.reduce((sum, { requests }) => sum + requests, 0),
      add(rows.map(({ cost }) => cost)),
    ];
    assert.deepEqual(exact(subgroups), exact([total]));
    assert.deepEqual(exact(data), exact([total]));
    assert.deepEqual(
      subgroups.map(({ model, key_name: name, other, other_subgroup: rest }: Json) => [model, name, other, rest]),
      [
        ['dear/echo', 'test', undefined, undefined],
        ['dear/echo', null, undefined, true],
        [null, 'test', true, undefined],
        [null, null, true, true],
      ],
    );
    for (const row of subgroups) {
      const isTest = row.key_name === 'test';
      const own = all.filter(
        ({ model, key_hash: key }) => (model === 'dear/echo') === !row.other && (key === 'config:test') === isTest,
      );
      assert.deepEqual([row.requests, add([row.cost])], [own.length, add(own.map(({ cost }) => cost))]);
    }
    const lines = (await get(`/usage?${query}&format=csv`)).text.trimEnd().split('\r\n');
    assert.match(lines[0] ?? '', /^model,key,key_name,other,other_subgroup,requests,/);
    assert.equal(add(lines.slice(1).map((line) => line.split(',').at(-1) ?? '0')), add([total.cost]));
    assert.deepEqual(
      (await report('by=hour,key&subgroup=model')).subgroups.length,
      4,
      'without top there are no others',
    );
    assert.equal((await report('by=model')).subgroups, null);
  });

  test('has the first by any figure', async () => {
    const first = async (figure: string) => (await report(`by=model&top=1&top_by=${figure}`)).data[0].model;
    assert.deepEqual([await first('cost'), await first('requests')], ['dear/echo', 'cheap/echo']);
    assert.deepEqual([await first('tokens'), await first('failures')], ['cheap/echo', 'cheap/echo']);
    const last = (await report('by=hour,key,model&top=1')).data.map(({ other }: Json) => other === true);
    assert.deepEqual(last, last.toSorted(), 'the others are last');
  });

  test('is compared with the period before', async () => {
    const middle = new Date(START + 12 * HOUR_MS - HOUR_MS / 2).toISOString();
    const end = new Date(START + 24 * HOUR_MS - HOUR_MS / 2).toISOString();
    const { total, before: earlier } = await report(`by=model&compare=true&from=${middle}&to=${end}`);
    assert.deepEqual([total.requests, earlier.total.requests], [12, 12]);
    assert.equal(earlier.to, middle);
    const hourly = await report(`by=hour,model&compare=true&top=1&from=${middle}&to=${end}`);
    const { course, data, total: sum } = hourly.before;
    assert.deepEqual([course.length, course[0].hour], [12, hourly.before.from]);
    assert.deepEqual(Object.keys(course[0]).includes('model'), false);
    for (const rows of [course, data]) assert.equal(add(rows.map(({ cost }: Json) => cost)), add([sum.cost]));
    assert.equal((await report('by=model')).before, null);
  });
});

describe('a comparison as CSV', () => {
  const middle = new Date(START + 12 * HOUR_MS - HOUR_MS / 2).toISOString();
  const end = new Date(START + 24 * HOUR_MS - HOUR_MS / 2).toISOString();
  const asked = `compare=true&from=${middle}&to=${end}`;
  const rowsOf = async (query: string): Promise<Json[]> => {
    const [names = '', ...lines] = (await get(`/usage?${query}&format=csv`)).text.trimEnd().split('\r\n');
    return lines.map((line) =>
      Object.fromEntries(names.split(',').map((name, index) => [name, line.split(',')[index]])),
    );
  };

  for (const by of [
    'model',
    'provider,status',
    'hour',
    'day',
    'hour,model',
    'day,model,status',
    'week',
    'month',
    'month,model',
  ]) {
    test(`by ${by}, it has the figures of the period before beside those of the report`, async () => {
      const { data, total, before: earlier } = await report(`by=${by}&${asked}`);
      const rows = await rowsOf(`by=${by}&${asked}`);
      const sum = (name: string) => rows.reduce((all, row) => all + Number(row[name]), 0);
      assert.deepEqual([sum('requests'), sum('before_requests')], [total.requests, earlier.total.requests]);
      assert.equal(add(rows.map(({ cost }) => cost)), add([total.cost]));
      assert.equal(add(rows.map(({ before_cost: cost }) => cost)), add([earlier.total.cost]));
      assert.equal(Object.keys(rows[0]).at(-1), 'before_cost');
      assert.ok(rows.length >= data.length);
      if (by === 'month') assert.deepEqual([rows.length, rows[0].before_requests], [1, '12']);
      if (by !== 'hour') return;
      assert.equal(rows.length, 12, 'the hours of both periods stand beside each other');
      const [first] = rows;
      const before = earlier.course.find(({ hour }: Json) => hour === earlier.from);
      assert.deepEqual([first.hour, first.before_cost], [middle, before.cost]);
    });
  }

  test('a group that was used before only has a row', async () => {
    const rows = await rowsOf(
      `by=provider&compare=true&from=${end}&to=${new Date(Date.parse(end) + 12 * HOUR_MS).toISOString()}`,
    );
    const gone = rows.filter(({ requests }) => requests === '0');
    assert.ok(gone.length > 0 && gone.every(({ before_requests: count }) => Number(count) > 0), JSON.stringify(rows));
  });

  test('rows of a time and a group stand beside those of the same group as long before, the others too', async () => {
    const rows = await rowsOf(`by=hour,model&top=1&${asked}`);
    const long = 12 * HOUR_MS;
    const all = await records();
    for (const row of rows) {
      const hour = new Date(Date.parse(row.hour) - long).toISOString().slice(0, 13);
      const own = all.filter(
        ({ started_at: at, model }) =>
          at.startsWith(hour) && (row.other === 'true' ? model !== 'dear/echo' : model === 'dear/echo'),
      );
      assert.deepEqual(
        [Number(row.before_requests), add([row.before_cost])],
        [own.length, add(own.map(({ cost }) => cost))],
      );
    }
    assert.ok(rows.some((row) => row.other === 'true' && row.before_requests !== '0'));
  });

  test('rows of the second level have none', async () => {
    const [row] = await rowsOf(`by=model&subgroup=key&${asked}`);
    assert.ok(!Object.keys(row).some((name) => name.startsWith('before_')));
  });
});

describe('what has no cost', () => {
  test('is named', async () => {
    const authorization = `Bearer ${KEY}`;
    const request = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'hi' }] };
    await (await post(`${gateway.url}/v1/chat/completions`, request, { authorization })).text();
    assert.deepEqual((await report('by=day')).models_without_cost, ['sandbox/echo']);
  });
});

describe('as CSV', () => {
  test('it is what is shown, and no spreadsheet runs it', async () => {
    const query = 'by=day,key&provider=cheap';
    const { headers, text } = await get(`/usage?${query}&format=csv`);
    assert.match(String(headers['content-type']), /^text\/csv/);
    assert.match(String(headers['content-disposition']), /^attachment; filename="usage-[\d-]+\.csv"$/);
    const [names = '', ...lines] = text.trimEnd().split('\r\n');
    assert.match(names, /^day,key,key_name,requests,/);
    const { data } = await report(query);
    assert.equal(lines.length, data.length);
    assert.ok(lines.some((line) => line.includes(`,"'=HYPERLINK(""x""),1",`)));
    assert.ok(!/(^|,)"?[=+@-]/m.test(text.replaceAll(/'=/g, '')));
    assert.equal(add(lines.map((line) => line.split(',').at(-1) ?? '0')), add(data.map(({ cost }: Json) => cost)));
  });
});

test('wrong parameters are refused by name', async () => {
  for (const query of [
    'by=nothing',
    'by=day,hour',
    'zone=Mars',
    'top=0',
    'top=1001',
    'top_by=day',
    'subgroup=key',
    'subgroup=nothing&by=model',
    'subgroup=day&by=model',
    'subgroup=model&by=model',
    'subgroup=model&by=key,provider',
    'compare=1',
    'format=xml',
    'from=2026-10-25&to=2026-10-24',
    'from=1900-01-01',
    'key=',
    'more=1',
  ]) {
    const { status, text } = await get(`/usage?${query}`);
    assert.equal(status, 400, query);
    assert.equal(JSON.parse(text).error.param, query.split('=', 1)[0]);
  }
});

test('a key sees its own', async () => {
  const headers = { authorization: `Bearer ${FORMULA_KEY}` };
  const { status, text } = await sendRaw(gateway.url, { method: 'GET', path: '/v1/self/usage?by=model', headers });
  assert.equal(status, 200);
  assert.equal(JSON.parse(text).total.requests, RECORDS / 4);
  const refused = await sendRaw(gateway.url, { method: 'GET', path: '/v1/self/usage?by=key', headers });
  assert.equal(refused.status, 400);
});

test('a key reads eight reports and lists at once; others, and what reads single records, are not held up', async (context) => {
  const other = 'sk-other-gateway-key-0123456789';
  let waiting = 0;
  const held = Promise.withResolvers<void>();
  const allWait = Promise.withResolvers<void>();
  const busy = await startTestGateway('', {
    keys: [`{ name: other, key: ${other} }`],
    wrapStore: (store) => ({
      ...store,
      async call(name, parameters) {
        if (name === 'usageSums' && waiting < 8) {
          if (++waiting === 8) allWait.resolve();
          await held.promise;
        }
        return store.call(name, parameters);
      },
    }),
  });
  context.after(() => {
    held.resolve();
    return busy.close();
  });
  const ask = (path: string, key = KEY) => fetch(busy.url + path, { headers: { authorization: `Bearer ${key}` } });
  const paths = ['/v1/usage', '/v1/self/usage', '/v1/usage?by=model', '/v1/self/usage?by=model,day'];
  const first = Promise.all([...paths, ...paths].map((path) => ask(path)));
  await allWait.promise;
  for (const path of ['/v1/usage', '/v1/self/usage', '/v1/self/requests', '/v1/self/videos/summary']) {
    const refused = await ask(path);
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '1'], path);
    assert.match(
      JSON.parse(await refused.text()).error.message,
      /^Too many reports and lists of this key are being read/,
    );
    assert.equal((await ask(path, other)).status, 200, path);
  }
  assert.equal((await ask('/v1/key')).status, 200);
  held.resolve();
  assert.deepEqual(
    (await first).map(({ status }) => status),
    Array(8).fill(200),
  );
  assert.equal((await ask('/v1/self/requests')).status, 200);
});
