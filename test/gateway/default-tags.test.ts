/** Tags of `key_defaults`: which keys get them, on both engines, and whose limits and budgets apply then. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { providePostgres } from '../store/postgres-server.ts';
import { forEachStore } from '../store/stores.ts';
import { ADMIN_CONFIG, askAdmin } from './admin-client.ts';
import { startTestGateway, type TestGateway } from './harness.ts';
import { hear } from './usage-client.ts';

const KEYS = [
  '{ name: silent, key: sk-test-silent-0123456789 }',
  '{ name: own, key: sk-test-own-0123456789, tags: { team: search } }',
  '{ name: without, key: sk-test-without-0123456789, tags: { team: null, env: null } }',
];

const yaml = (defaults: string): string => `${ADMIN_CONFIG}key_defaults: { tags: { ${defaults} } }
tags: { team=unassigned: { limits: { requests_per_minute: 1 } } }
`;

async function startGateway(context: TestContext, engine: string): Promise<TestGateway> {
  const database = engine === 'postgres' ? await providePostgres() : undefined;
  const text = `${yaml('team: unassigned, env: dev')}encryption: { key: "${randomBytes(32).toString('base64')}" }\n`;
  const gateway = await startTestGateway(text, { keys: KEYS, ...(database && { postgres: database.url }) });
  context.after(async () => {
    await gateway.close();
    await database?.close();
  });
  return gateway;
}

forEachStore((engine) => {
  test(`a new key has the tags of the defaults that it does not name itself (${engine})`, async (context) => {
    const { adminUrl, url, reload } = await startGateway(context, engine);
    async function made(path: string, body: Json): Promise<Json> {
      const answer = await askAdmin(adminUrl, 'POST', path, body);
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      return answer.body;
    }
    const tagsOf = async (body: Json): Promise<Json> => (await made('/keys', body)).data.tags;

    assert.deepEqual(await tagsOf({ name: 'a' }), { team: 'unassigned', env: 'dev' });
    assert.deepEqual(await tagsOf({ name: 'b', tags: { team: 'ads', size: 'xl' } }), {
      team: 'ads',
      env: 'dev',
      size: 'xl',
    });
    assert.deepEqual(await tagsOf({ name: 'c', tags: { env: null } }), { team: 'unassigned' });
    assert.deepEqual(await tagsOf({ name: 'd', tags: null }), {});

    const { data: bodies } = await made('/keys/bulk', { keys: [{ name: 'e' }, { name: 'f', tags: { team: null } }] });
    const { data: lines } = await made('/keys/bulk', { csv: 'name,tag:team\ng,search\nh,\n' });
    assert.deepEqual(
      [...bodies, ...lines].map(({ data }: Json) => data.tags),
      [
        { team: 'unassigned', env: 'dev' },
        { env: 'dev' },
        { team: 'search', env: 'dev' },
        { team: 'unassigned', env: 'dev' },
      ],
    );

    const { body: all } = await askAdmin(adminUrl, 'GET', '/keys');
    assert.deepEqual(all.default_tags, { team: 'unassigned', env: 'dev' });
    const fixed = all.data.filter(({ origin }: Json) => origin === 'configuration');
    assert.deepEqual(Object.fromEntries(fixed.map(({ name, tags }: Json) => [name, tags])), {
      test: { team: 'unassigned', env: 'dev' },
      silent: { team: 'unassigned', env: 'dev' },
      own: { team: 'search', env: 'dev' },
      without: {},
    });

    // The limit of the tag is that of the key, which another key of the tag uses up.
    const { key } = await made('/keys', { name: 'i' });
    const ask = (own: string) => hear(url, { protocol: 'chat', model: 'sandbox/echo', text: 'Hi', key: own });
    assert.equal((await ask('sk-test-silent-0123456789')).status, 200);
    const refused = await ask(key);
    assert.equal(refused.status, 429);
    assert.match(refused.text, /Keys with the tag team=unassigned/);

    // Stored keys keep the tags with which they were made; those of the file have what it says now.
    reload(yaml('team: later'));
    assert.deepEqual(await tagsOf({ name: 'j' }), { team: 'later' });
    const { body: after } = await askAdmin(adminUrl, 'GET', '/keys');
    const now = Object.fromEntries(after.data.map(({ name, tags }: Json) => [name, tags]));
    assert.deepEqual([now.a, now.test], [{ team: 'unassigned', env: 'dev' }, { team: 'later' }]);
  });

  test(`a key may not have more tags than others with those of the defaults (${engine})`, async (context) => {
    const { adminUrl } = await startGateway(context, engine);
    const tags = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`t${index}`, 'x']));
    const { status, body } = await askAdmin(adminUrl, 'POST', '/keys', { name: 'full', tags });
    assert.deepEqual([status, body.error?.param], [400, 'tags']);
  });
});
