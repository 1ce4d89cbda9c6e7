/** Content codings of the gateway's own answers: which one a client gets, what stays plain, and what is kept of them. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { type IncomingHttpHeaders, request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { type ContentCoding, chooseCoding, compress } from '../../src/http/content-coding.ts';
import type { HttpResponse } from '../../src/http/http-response.ts';
import { createKeptBody, keptBody, sendKept } from '../../src/http/kept-body.ts';
import type { HttpContext } from '../../src/http/request-context.ts';
import { HEADERS, KEY, startTestGateway, type TestGateway } from '../gateway/harness.ts';

const TOKEN = 'an-admin-token-of-32-characters-0';
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` };
const BOTH = 'gzip, deflate, br, zstd';
const run = promisify(execFile);

const models = Array.from({ length: 200 }, (_, index) => `      - { id: "m${index}", name: "Model ${index}" }`);
let gateway: TestGateway;
before(async () => {
  gateway = await startTestGateway(
    `admin: { token: ${TOKEN}, port: 0 }\nproviders:\n  google: { api_key: k }\n  own:\n    type: openai-compatible\n    base_url: http://127.0.0.1:9/v1\n    models:\n${models.join('\n')}`,
  );
});
after(() => gateway.close());

interface Answer {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
}

/** As it is sent: `fetch` decompresses. */
function get(url: string, headers: Record<string, string> = {}, method = 'GET', body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request(url, { headers, method }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      resolve({ status: response.statusCode, headers: response.headers, bytes: Buffer.concat(chunks) });
    })
      .on('error', reject)
      .end(body);
  });
}

const DECODED: Record<ContentCoding, (bytes: Buffer) => Buffer> = { br: brotliDecompressSync, gzip: gunzipSync };

test('the coding with the highest weight is chosen, br before gzip, and none that is not named', () => {
  const cases: [accepted: string | undefined, chosen: ContentCoding | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['gzip', 'gzip'],
    ['gzip, deflate', 'gzip'],
    [BOTH, 'br'],
    ['GZip', 'gzip'],
    ['br;q=0.5, gzip', 'gzip'],
    ['br; q=0.8 , gzip;q=0.8', 'br'],
    ['br;q=0, gzip;q=0.000', undefined],
    ['gzip;q=1.000', 'gzip'],
    ['gzip;q=0.5, identity', undefined],
    ['gzip, identity', 'gzip'],
    ['identity;q=0.5, gzip;q=0.4, br;q=0.6', 'br'],
    ['*', undefined],
    ['*;q=0, gzip', 'gzip'],
    ['gzip;q=2', undefined],
    ['gzip;level=9', undefined],
    ['gzip;q=1;x=y', undefined],
    ['deflate, zstd', undefined],
    [`${'x,'.repeat(1000)}gzip`, undefined],
    [`${'x,'.repeat(498)}gzip;q=0`, undefined],
    [`gzip,${'x'.repeat(995)}`, 'gzip'],
    [`gzip,${'x'.repeat(996)}`, undefined],
    [`gzip;q=${'0'.repeat(100_000)}`, undefined],
  ];
  for (const [accepted, chosen] of cases) assert.equal(chooseCoding(accepted), chosen, accepted?.slice(0, 80));
  assert.equal(chooseCoding(BOTH, ['gzip']), 'gzip');
  assert.equal(chooseCoding(BOTH, []), undefined);
});

describe('lists for anyone', () => {
  const paths = [
    '/v1/models',
    '/v1/models/own',
    '/v1/models?limit=100',
    '/v1/models?client_version=0.169.0',
    '/anthropic/v1/models',
    '/gemini/v1beta/models',
    '/v1/videos/models',
    '/openapi.json',
  ];
  for (const path of paths) {
    test(`${path} has one content and length, and an ETag for each coding`, async () => {
      const plain = await get(gateway.url + path);
      assert.equal(plain.headers['content-encoding'], undefined);
      assert.equal(plain.headers.vary, 'accept-encoding');
      const tags = new Set([plain.headers.etag]);
      for (const coding of ['br', 'gzip'] as const) {
        const asked = { 'accept-encoding': coding };
        const { status, headers, bytes } = await get(gateway.url + path, asked);
        assert.deepEqual([status, headers['content-encoding'], headers.vary], [200, coding, 'accept-encoding']);
        assert.equal(headers['content-length'], String(bytes.length));
        assert.equal(headers['content-type'], plain.headers['content-type']);
        assert.equal(headers['cache-control'], plain.headers['cache-control']);
        assert.ok(DECODED[coding](bytes).equals(plain.bytes));
        assert.ok(bytes.length < plain.bytes.length / 2);
        tags.add(headers.etag);
        const head = await get(gateway.url + path, asked, 'HEAD');
        for (const name of ['content-encoding', 'content-length', 'etag', 'vary'])
          assert.equal(head.headers[name], headers[name], name);
        assert.equal(head.bytes.length, 0);
        const unchanged = await get(gateway.url + path, { ...asked, 'if-none-match': String(headers.etag) });
        assert.deepEqual(
          [unchanged.status, unchanged.headers.etag, unchanged.headers.vary, unchanged.bytes.length],
          [304, headers.etag, 'accept-encoding', 0],
        );
        assert.equal(unchanged.headers['content-encoding'], undefined);
        const other = await get(gateway.url + path, { ...asked, 'if-none-match': String(plain.headers.etag) });
        assert.equal(other.status, 200, 'a strong ETag of other bytes is no match');
        const ranged = await get(gateway.url + path, { ...asked, range: 'bytes=0-9' });
        assert.deepEqual([ranged.status, ranged.bytes.length], [200, bytes.length]);
      }
      assert.equal(tags.size, 3);
      assert.equal((await get(gateway.url + path, { 'if-none-match': [...tags].join(', ') })).status, 304);
    });
  }

  test('small ones are sent as they are, and caches know that they depend on the coding', async () => {
    const { headers, bytes } = await get(`${gateway.url}/v1/models/count`, { 'accept-encoding': BOTH });
    assert.deepEqual([headers['content-encoding'], headers.vary], [undefined, 'accept-encoding']);
    assert.ok(JSON.parse(bytes.toString()).data.count >= 200);
  });

  test('curl and fetch read them', async () => {
    const url = `${gateway.url}/v1/models`;
    const plain = await get(url);
    const { stdout } = await run('curl', ['-sS', '--compressed', url], { encoding: 'buffer' });
    assert.ok(stdout.equals(plain.bytes));
    const { stdout: size } = await run('curl', [
      '-sS',
      '--compressed',
      '-o',
      '/dev/null',
      '-w',
      '%{size_download}',
      url,
    ]);
    assert.ok(Number(size) > 0 && Number(size) < plain.bytes.length / 2);
    const response = await fetch(url);
    assert.match(response.headers.get('content-encoding') ?? '', /^(br|gzip)$/);
    assert.equal(await response.text(), plain.bytes.toString());
  });

  test('one that changes is another one in every coding', async () => {
    const url = `${gateway.url}/v1/models`;
    const headers = { 'accept-encoding': 'gzip' };
    const first = await get(url, headers);
    const text = `admin: { token: ${TOKEN}, port: 0 }\nproviders: { own: { type: openai-compatible, base_url: "http://127.0.0.1:9/v1", models: [{ id: alone }] } }`;
    const other = await startTestGateway(text);
    try {
      const { headers: changed, bytes } = await get(`${other.url}/v1/models`, headers);
      assert.notEqual(changed.etag, first.headers.etag);
      other.reload(text.replace('alone', 'replaced'));
      const reloaded = await get(`${other.url}/v1/models`, { ...headers, 'if-none-match': String(changed.etag) });
      assert.equal(reloaded.status, 200);
      assert.match(gunzipSync(bytes).toString(), /"own\/alone"/);
      assert.match(gunzipSync(reloaded.bytes).toString(), /"own\/replaced"/);
    } finally {
      await other.close();
    }
  });
});

describe('of the admin API', () => {
  for (const path of ['models', 'config', 'keys']) {
    test(`${path} are compressed`, async () => {
      const url = `${gateway.adminUrl}/admin/v1/${path}`;
      const plain = await get(url, AUTHORIZED);
      assert.equal(plain.headers['content-encoding'], undefined);
      const { headers, bytes } = await get(url, { ...AUTHORIZED, 'accept-encoding': BOTH });
      const isSmall = plain.bytes.length < 1024;
      assert.deepEqual(
        [headers['content-encoding'], headers.vary, headers['cache-control'], headers['content-type']],
        [isSmall ? undefined : 'br', 'accept-encoding', 'no-store', 'application/json; charset=utf-8'],
      );
      assert.deepEqual(
        JSON.parse((isSmall ? bytes : brotliDecompressSync(bytes)).toString()),
        JSON.parse(plain.bytes.toString()),
      );
      if (path !== 'keys') assert.ok(!isSmall);
    });
  }
});

describe('what clients and models write', () => {
  const TEXT = 'word '.repeat(2000);
  const ask = (more: object) =>
    get(
      `${gateway.url}/v1/chat/completions`,
      { ...HEADERS.chat, 'content-type': 'application/json', 'accept-encoding': BOTH },
      'POST',
      JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: TEXT }], ...more }),
    );

  test('is never compressed: answers, streams, and lists of requests', async () => {
    for (const stream of [false, true]) {
      const { status, headers, bytes } = await ask({ stream });
      assert.deepEqual([status, headers['content-encoding']], [200, undefined]);
      assert.ok(bytes.length > TEXT.length);
    }
    const urls: [url: string, headers: Record<string, string>][] = [
      [`${gateway.adminUrl}/admin/v1/requests`, AUTHORIZED],
      [`${gateway.adminUrl}/admin/v1/audit`, AUTHORIZED],
      [`${gateway.url}/v1/self/requests`, { authorization: `Bearer ${KEY}` }],
    ];
    for (const [url, headers] of urls) {
      const answer = await get(url, { ...headers, 'accept-encoding': BOTH });
      assert.deepEqual([answer.status, answer.headers['content-encoding']], [200, undefined], url);
    }
  });
});

describe('what is kept', () => {
  const text = (character: string, length = 10_000) => character.repeat(length);

  /** Sends the answer as to a client that takes a coding. */
  async function sent(answer: ReturnType<typeof createKeptBody>, accepted: string): Promise<HttpResponse> {
    const responses: HttpResponse[] = [];
    const context = {
      request: { headers: { 'accept-encoding': accepted } },
      send: (response: HttpResponse) => void responses.push(response),
    } as unknown as HttpContext;
    await sendKept(context, answer, {});
    return responses[0] ?? assert.fail();
  }

  test('an answer is compressed once in each coding, however many ask', async () => {
    const answer = createKeptBody(text('a'));
    const responses = await Promise.all(['gzip', 'gzip', 'br', 'gzip'].map((accepted) => sent(answer, accepted)));
    const [first, second, brotli, last] = responses.map(({ body }) => body);
    assert.equal(second, first);
    assert.equal(last, first);
    assert.notEqual(brotli, first);
    assert.equal((await sent(answer, 'br')).body, brotli);
  });

  test('is made once of a source, until others have taken its place', () => {
    const source = {};
    const made: string[] = [];
    const of = (name: string, length?: number) =>
      keptBody(source, name, () => {
        made.push(name);
        return text(name, length);
      });
    const first = of('a');
    assert.equal(of('a'), first);
    assert.notEqual(
      keptBody({}, 'a', () => text('a')),
      first,
    );
    of('b', 30 * 2 ** 20);
    of('c', 30 * 2 ** 20);
    of('a');
    of('d', 30 * 2 ** 20);
    of('a');
    of('c');
    assert.deepEqual(made, ['a', 'b', 'c', 'd'], 'b was asked for the longest ago');
    of('b');
    assert.equal(made.at(-1), 'b');
    of('e', 65 * 2 ** 20);
    of('e');
    assert.deepEqual(made.slice(5), ['e'], 'one alone may have more');
  });

  test('while many compressions wait, further answers are sent as they are, and later ones compressed again', async () => {
    const body = Buffer.from(text('a'));
    const waiting = Array.from({ length: 40 }, () => compress('gzip', body));
    const answer = createKeptBody(text('b'));
    const response = await sent(answer, 'gzip');
    assert.deepEqual([response.headers?.['content-encoding'], response.body], [undefined, answer.plain]);
    assert.equal(response.headers?.etag, `"${answer.version}"`);
    const compressed = await Promise.all(waiting);
    assert.equal(compressed.filter((bytes) => bytes === undefined).length, 8);
    assert.equal((await sent(answer, 'gzip')).headers?.['content-encoding'], 'gzip');
  });
});
