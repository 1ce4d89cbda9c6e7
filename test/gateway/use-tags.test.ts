/** Use by tags, protocol and status over HTTP, on both engines: sums that equal the records, and tags of their moment. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { problems } from '../../src/core/json/check.ts';
import type { Json } from '../../src/core/json/json.ts';
import { requestList } from '../../src/http/requests/schema.ts';
import { use } from '../../src/http/use.ts';
import { providePostgres } from '../store/postgres-server.ts';
import { forEachStore } from '../store/stores.ts';
import { ADMIN_CONFIG, askAdmin } from './admin-client.ts';
import { PATHS, type ProtocolId, post, question, sendRaw, startTestGateway, type TestGateway } from './harness.ts';

const CONFIG = `${ADMIN_CONFIG}encryption: { key: "${randomBytes(32).toString('base64')}" }
models:
  house/priced: { endpoints: [{ provider: sandbox, model: echo, pricing: { prompt: "0.000001", completion: "0.000003" } }] }
`;
const FIXED = '{ name: fixed, key: sk-fixed-0123456789abcdef, tags: { team: platform } }';

/** Exact sum of USD with twelve decimals. */
function add(costs: string[]): bigint {
  return costs.reduce((sum, cost) => {
    const [whole = '0', fraction = ''] = cost.split('.');
    return sum + BigInt(whole + fraction.padEnd(12, '0'));
  }, 0n);
}

/** Sends requests of keys with tags, of which one changes between them. */
async function sendRequests(gateway: TestGateway): Promise<{ key: string; hash: string }> {
  const { body: made } = await askAdmin(gateway.adminUrl, 'POST', '/keys', {
    name: 'moves',
    tags: { team: 'search', env: 'prod' },
  });
  const { key, data } = made;
  const send = async (secret: string, protocol: ProtocolId, model: string, text: string) => {
    const headers = { authorization: `Bearer ${secret}`, 'anthropic-version': '2023-06-01' };
    await (await post(gateway.url + PATHS[protocol](model, false), question(protocol, model, text), headers)).text();
  };
  await send(key, 'chat', 'house/priced', 'one two three');
  await send(key, 'messages', 'house/priced', 'one two');
  await send(key, 'chat', 'sandbox/faulty', 'status 400');
  await askAdmin(gateway.adminUrl, 'PATCH', `/keys/${data.hash}`, { tags: { team: 'ads', env: null } });
  await send(key, 'chat', 'house/priced', 'one two three four');
  await send('sk-fixed-0123456789abcdef', 'chat', 'house/priced', 'one');
  await send('sk-test-gateway-key-0123456789', 'messages', 'house/priced', 'none has tags');
  return { key, hash: data.hash };
}

const NAMES: [by: string, nameOf: (record: Json) => unknown[]][] = [
  ['status', ({ status }) => [status]],
  ['protocol', ({ protocol }) => [protocol]],
  ['tag:team', ({ tags }) => [tags.team ?? null]],
  ['tag:team,tag:env', ({ tags }) => [tags.team ?? null, tags.env ?? null]],
  ['minute', ({ started_at }) => [`${started_at.slice(0, 16)}:00.000Z`]],
  ['minute,tag:team', ({ started_at, tags }) => [`${started_at.slice(0, 16)}:00.000Z`, tags.team ?? null]],
  ['key,tag:team,status', ({ key_hash, tags, status }) => [key_hash, tags.team ?? null, status]],
];

forEachStore((engine) => {
  test(`sums by tag, protocol and status are those of the records, to the last digit (${engine})`, async (context) => {
    const database = engine === 'postgres' ? await providePostgres() : undefined;
    const gateway = await startTestGateway(CONFIG, { keys: [FIXED], ...(database && { postgres: database.url }) });
    context.after(async () => {
      await gateway.close();
      await database?.close();
    });
    const { key, hash } = await sendRequests(gateway);
    const read = async (path: string) => {
      const { status, body } = await askAdmin(gateway.adminUrl, 'GET', path);
      assert.equal(status, 200, JSON.stringify(body));
      return body;
    };
    const listed = await read('/requests');
    assert.deepEqual(problems(requestList, listed), []);
    const all: Json[] = listed.data;
    assert.equal(all.length, 6);
    const moved = all.filter(({ key_hash }) => key_hash === hash).map(({ tags }) => tags);
    assert.deepEqual(moved, [{ team: 'ads' }, ...Array(3).fill({ env: 'prod', team: 'search' })]);

    for (const [by, nameOf] of NAMES) {
      const report = await read(`/usage?by=${by}`);
      assert.deepEqual(problems(use, report), []);
      const groups = Map.groupBy(all, (record) => JSON.stringify(nameOf(record)));
      assert.equal(report.data.length, groups.size, by);
      for (const row of report.data) {
        const own = groups.get(JSON.stringify(by.split(',').map((name) => row[name]))) ?? [];
        assert.equal(row.requests, own.length, by);
        assert.equal(add([row.cost]), add(own.map(({ cost }) => cost)), by);
        for (const count of ['input_tokens', 'output_tokens']) {
          const sum = own.reduce((total: number, record) => total + record[count], 0);
          assert.equal(row[count], sum, `${count} by ${by}`);
        }
      }
      assert.deepEqual([report.total.requests, add([report.total.cost])], [6, add(all.map(({ cost }) => cost))]);
    }

    for (const [filter, holds] of [
      ['tag=team=search', ({ tags }) => tags.team === 'search'],
      ['tag=env=prod', ({ tags }) => tags.env === 'prod'],
      ['tag=team=sear', () => false],
      ['status=failed', ({ status }) => status === 'failed'],
      ['protocol=messages', ({ protocol }) => protocol === 'messages'],
    ] as [string, (record: Json) => boolean][]) {
      const expected = all.filter(holds);
      for (const by of ['day', 'minute']) {
        const { total } = await read(`/usage?by=${by}&${filter}`);
        const sum = add(expected.map(({ cost }) => cost));
        assert.deepEqual([total.requests, add([total.cost])], [expected.length, sum], `${filter} by ${by}`);
      }
      const { data } = await read(`/requests?${filter}`);
      assert.deepEqual(data, expected, filter);
    }

    const csv = await sendRaw(gateway.url, {
      method: 'GET',
      path: '/v1/self/usage?by=tag:team,status&format=csv',
      headers: { authorization: `Bearer ${key}` },
    });
    const [head, ...lines] = csv.text.trimEnd().split('\r\n');
    assert.match(head ?? '', /^tag:team,status,requests,/);
    const rows = lines.map((line) => line.split(',').slice(0, 3).join(','));
    assert.deepEqual(rows.toSorted(), ['ads,completed,1', 'search,completed,2', 'search,failed,1']);
    for (const [query, param] of [
      ['by=tag:', 'by'],
      ['by=tag:Team', 'by'],
      ['by=tag', 'by'],
      ['tag=team', 'tag'],
      ['by=minute&from=2020-01-01', 'from'],
    ]) {
      const { status, body } = await askAdmin(gateway.adminUrl, 'GET', `/usage?${query}`);
      assert.deepEqual([status, body.error.param], [400, param]);
    }
  });
});
