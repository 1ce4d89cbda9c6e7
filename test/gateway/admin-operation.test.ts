/** Configuration, store and tests of providers in the admin API. Nothing there shows a secret. */

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: The file's own syntax.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import type { Store } from '../../src/store/store.ts';
import { providePostgres, type TestDatabase } from '../store/postgres-server.ts';
import { ADMIN_CONFIG, ADMIN_TOKEN, type AdminAnswer, askAdmin } from './admin-client.ts';
import { answerJson, KEY, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from './harness.ts';

/** Planted in every setting that is secret; each begins differently, since masks show four characters. */
const SECRETS = {
  providerKey: 'prov-canary-0123456789abcdef',
  header: 'head-canary-0123456789abcdef',
  callbacks: 'whsec_Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5',
  encryption: Buffer.from('encryption-canary-0123456789abcd').toString('base64'),
  s3: 's3se-canary-0123456789abcdef',
  otlp: 'otlp-canary-0123456789abcdef',
};
const configOf = (url: string, timeout = '5s') => `${ADMIN_CONFIG}
server: { deadlines: { connect: ${timeout} } }
encryption: { key: ${SECRETS.encryption} }
callbacks: { secret: ${SECRETS.callbacks} }
videos: { mirror: s3, s3: { endpoint: "http://127.0.0.1:9", bucket: bucket, access_key_id: id, secret_access_key: ${SECRETS.s3} } }
telemetry: { otlp: { endpoint: "http://127.0.0.1:9", headers: { authorization: ${SECRETS.otlp} } } }
providers:
  local: { type: openai-compatible, base_url: "${url}/v1", api_key: ${SECRETS.providerKey}, headers: { x-account: ${SECRETS.header} }, models: [{ id: m }] }
  short: { type: openai-compatible, base_url: "${url}", api_key: ${SECRETS.providerKey}, models: [{ id: m }] }
  below: { type: openai-compatible, base_url: "${url}/v1beta/openai", api_key: ${SECRETS.providerKey}, models: [{ id: m }] }
  claude: { type: anthropic, base_url: "${url}", api_key: ${SECRETS.providerKey} }
  claude-below: { type: anthropic, base_url: "${url}/anthropic", api_key: ${SECRETS.providerKey} }
  gemini: { type: google, base_url: "${url}", api_key: ${SECRETS.providerKey} }
`;

let gateway: TestGateway;
let upstream: TestUpstream;
let status = 200;

const admin = (method: string, path: string, body?: Json): Promise<AdminAnswer> =>
  askAdmin(gateway.adminUrl, method, path, body);
const check = async (text: string): Promise<Json> => (await admin('POST', '/config/check', { text })).body.data;

before(async () => {
  upstream = await startUpstream((_call, response) =>
    answerJson(response, { data: [{ id: 'a' }, { id: 'b' }], error: { message: SECRETS.providerKey } }, status),
  );
  gateway = await startTestGateway(configOf(upstream.url));
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

test('setup has the providers, the keys that are active, and when a request came', async () => {
  const before = (await admin('GET', '/setup')).body.data;
  assert.equal(before.last_request_at, null);
  assert.deepEqual(before.providers, (await admin('GET', '/config')).body.data.providers);
  const { data } = (await admin('POST', '/keys', { name: 'late' })).body;
  assert.equal((await admin('GET', '/setup')).body.data.active_keys, before.active_keys + 1);
  await admin('PATCH', `/keys/${data.hash}`, { disabled: true });
  assert.equal((await admin('GET', '/setup')).body.data.active_keys, before.active_keys);
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const messages = [{ role: 'user', content: 'Hello' }];
  const body = JSON.stringify({ model: 'sandbox/echo', messages });
  assert.equal((await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body })).status, 200);
  assert.match((await admin('GET', '/setup')).body.data.last_request_at, /^20/);
});

describe('the configuration', () => {
  const find = (settings: Json[], path: string) => settings.find((one) => one.path === path);

  test('is shown with defaults and with the place of each value', async () => {
    const { settings, complete } = (await admin('GET', '/config')).body.data;
    assert.equal(complete, true);
    assert.deepEqual(find(settings, 'server.deadlines.idle'), {
      ...{ path: 'server.deadlines.idle', value: '2m', source: { from: 'default' } },
    });
    const connect = find(settings, 'server.deadlines.connect');
    assert.deepEqual([connect.value, connect.source], ['5s', { from: 'file', line: 5 }]);
    assert.deepEqual(find(settings, 'server.port').source, { from: 'command line' });
    assert.deepEqual(find(settings, 'providers.local.api_key').value, 'prov…');
  });

  test('never shows a secret', async () => {
    const text = JSON.stringify((await admin('GET', '/config')).body);
    for (const secret of [...Object.values(SECRETS), KEY, ADMIN_TOKEN]) assert.ok(!text.includes(secret), secret);
  });

  test('says what changed since the start, secrets among it, and what needs a restart', async () => {
    const changed = configOf(upstream.url, '7s').replace(SECRETS.providerKey, 'prov-another-0123456789abcdef');
    gateway.reload(changed.replace(SECRETS.s3, 's3se-another-0123456789abcdef'));
    const { changes, needs_restart: restart } = (await admin('GET', '/config')).body.data;
    assert.deepEqual(changes, [
      { path: 'server.deadlines.connect', before: '5s', now: '7s' },
      { path: 'videos.s3.secret_access_key', before: 's3se…', now: 's3se…' },
      { path: 'providers.local.api_key', before: 'prov…', now: 'prov…' },
    ]);
    assert.deepEqual(restart, ['videos']);
    gateway.reload(configOf(upstream.url));
    assert.deepEqual((await admin('GET', '/config')).body.data.changes, []);
  });
});

describe('a check of a configuration', () => {
  test('names each problem with its line', async () => {
    const { valid, problems } = await check('server:\n  prot: 8080\nlimits: { requests_per_minute: -1 }\n');
    assert.equal(valid, false);
    assert.deepEqual(
      problems.map(({ line, path }: Json) => [line, path]),
      [
        [2, 'server.prot'],
        [3, 'limits.requests_per_minute'],
      ],
    );
    assert.match(problems[0].message, /did you mean port/);
  });

  test('says what would change', async () => {
    const { valid, changes } = await check(`data: ${gateway.folder}\nserver: { keep_alive: 20s }\n`);
    assert.equal(valid, true);
    const change = changes.find(({ path }: Json) => path === 'server.keep_alive');
    assert.deepEqual(change, { path: 'server.keep_alive', before: '15s', now: '20s' });
  });

  test('reads neither variables nor files', async () => {
    const text =
      'server: { public_url: "${HOME}" }\ncallbacks: { ca_file: /etc/passwd }\nkeys: [{ name: a, key: "${NO_SUCH}" }]';
    const { problems, unchecked } = await check(text);
    assert.ok(!JSON.stringify(problems).includes(String(process.env.HOME)));
    assert.deepEqual(
      problems.map(({ path }: Json) => path),
      // Gateways of tests have no environment.
      ['server.public_url', 'keys[0].key'],
    );
    assert.deepEqual(unchecked, []);
  });

  test('is bounded, and refuses what is no text', async () => {
    assert.equal((await admin('POST', '/config/check', { text: 'x'.repeat(200_001) })).status, 400);
    assert.equal((await admin('POST', '/config/check', { text: 1 })).status, 400);
    const bomb = [
      'a: &a [1,1,1,1,1,1,1,1,1]',
      ...'bcdefghi'.split('').map((name, at) => `${name}: &${name} [${`*${'abcdefghi'[at]},`.repeat(9)}]`),
    ];
    assert.equal((await check(bomb.join('\n'))).valid, false);
  });
});

describe('a test of a provider', () => {
  test('counts the models of its list', async () => {
    const { data } = (await admin('POST', '/providers/local/test')).body;
    assert.deepEqual([data.id, data.ok, data.models], ['local', true, 2]);
    assert.equal(upstream.calls.at(-1)?.path, '/v1/models');
    assert.equal(upstream.calls.at(-1)?.headers.authorization, `Bearer ${SECRETS.providerKey}`);
  });

  test('says how it fails, without the words of the upstream', async () => {
    status = 401;
    const { body } = await admin('POST', '/providers/local/test');
    status = 200;
    assert.deepEqual(
      [body.data.ok, body.data.problem],
      [false, 'It answered with status 401 when asked for its models.'],
    );
    assert.ok(!JSON.stringify(body).includes(SECRETS.providerKey));
    status = 404;
    const problemOf = async (id: string) => (await admin('POST', `/providers/${id}/test`)).body.data.problem;
    const [short, claude] = [await problemOf('short'), await problemOf('claude')];
    const others = await Promise.all(['local', 'below', 'claude-below', 'gemini'].map(problemOf));
    status = 200;
    assert.match(short, /status 404 .* Its base_url may lack its end, such as \/v1\.$/);
    assert.match(claude, /status 404 .* Its base_url may lack its end, such as \/anthropic\.$/);
    assert.deepEqual([...new Set(others)], ['It answered with status 404 when asked for its models.']);
  });

  test('needs no request for the sandbox, and says for what a provider waits', async () => {
    assert.equal((await admin('POST', '/providers/sandbox/test')).body.data.ok, true);
    const { data } = (await admin('POST', '/providers/openai/test')).body;
    assert.match(data.problem, /waits for OPENAI_API_KEY/);
    assert.equal((await admin('POST', '/providers/nobody/test')).status, 404);
  });
});

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`the store, ${engine}`, () => {
    let database: TestDatabase | undefined;
    let other: TestGateway;
    let store: Store | undefined;
    before(async () => {
      database = engine === 'postgres' ? await providePostgres() : undefined;
      other = await startTestGateway(ADMIN_CONFIG, {
        ...(database && { postgres: database.url }),
        wrapStore(opened) {
          store = opened;
          return opened;
        },
      });
    });
    after(async () => {
      await other.close();
      await database?.close();
    });

    test('is described', async () => {
      const { data } = (await askAdmin(other.adminUrl, 'GET', '/health/store')).body;
      assert.deepEqual([data.engine, data.writable, data.problem], [engine, true, null]);
      assert.deepEqual(data.records, { writable: true, waiting: 0, lost: 0, refused: 0 });
      assert.ok(data.bytes > 0 && data.disk.free_bytes > 0 && Array.isArray(data.jobs));
      assert.match(data.retention.usage, /^\d+[a-z]/);
    });

    test('tells when it was backed up last, if that is known', async () => {
      const backupAt = async () => (await askAdmin(other.adminUrl, 'GET', '/health/store')).body.data.backup_at;
      assert.equal(await backupAt(), null);
      for (const at of ['2026-11-02T03:04:05.000Z', '2026-11-03T03:04:05.678Z']) {
        await store?.call('noteMoment', { name: 'backup', at: Date.parse(at) });
        assert.equal(await backupAt(), at);
      }
    });
  });
}
