/** Pages of the dashboard: encodings, caching, headers of security, and a folder that comes later. */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { createPages } from '../../src/http/ui/pages.ts';
import { startTestGateway, type TestGateway } from '../gateway/harness.ts';

const TOKEN = 'an-admin-token-of-32-characters-0';
const SCRIPT = 'export const answer = 42;\n';
const INDEX = '<!doctype html><title>Polygate</title>';
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; " +
  "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'";
const PERMISSIONS = 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()';

let folder: string;
let gateway: TestGateway;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'polygate-pages-'));
  gateway = await startTestGateway(`admin: { token: ${TOKEN}, port: 0 }`, { pages: createPages(join(folder, 'ui')) });
});
after(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true });
});

function build(): void {
  mkdirSync(join(folder, 'ui', 'assets'), { recursive: true });
  const files = { 'index.html': INDEX, 'assets/main-1a2b.js': SCRIPT };
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, 'ui', `${name}.gz`), gzipSync(text));
    writeFileSync(join(folder, 'ui', `${name}.br`), brotliCompressSync(text));
  }
  writeFileSync(join(folder, 'ui', 'assets', 'font-3c4d.woff2'), 'wOF2');
}

interface Answer {
  status: number | undefined;
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
}

/** As it is sent: `fetch` decompresses. */
function get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request(gateway.url + path, { headers }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      resolve({ status: response.statusCode, headers: response.headers, bytes: Buffer.concat(chunks) });
    })
      .on('error', reject)
      .end();
  });
}

test('before they are built, /ui says so and the root path has the page that it always had', async () => {
  const { status, headers, bytes } = await get('/ui');
  assert.deepEqual([status, headers['retry-after'], headers['cache-control']], [503, '2', 'no-store']);
  assert.match(bytes.toString(), /being built/);
  assert.match((await get('/', { accept: 'text/html' })).bytes.toString(), /It is ready for requests/);
});

test('where they could not be built, /ui says why, and does not ask again', async () => {
  writeFileSync(join(folder, 'ui-problem.txt'), 'npm ci failed: <script>alert(1)</script> & more');
  const { status, headers, bytes } = await get('/ui');
  assert.deepEqual([status, headers['retry-after'], headers['content-security-policy']], [503, undefined, POLICY]);
  assert.match(
    bytes.toString(),
    /could not be built[\s\S]*<pre>npm ci failed: &#60;script&#62;alert\(1\)&#60;\/script&#62; &#38; more</,
  );
  assert.doesNotMatch(bytes.toString(), /refresh/);
  build();
});

test('once they are built, browsers are sent to them and programs are not', async () => {
  const { status, headers } = await get('/', { accept: 'text/html,*/*;q=0.8' });
  assert.deepEqual([status, headers.location, headers.vary], [303, '/ui', 'accept']);
  assert.equal(JSON.parse((await get('/', { accept: '*/*' })).bytes.toString()).name, 'polygate');
});

test('a script is sent in the encoding that the client takes, and kept for ever', async () => {
  const path = '/ui/assets/main-1a2b.js';
  const cases: [accepted: string, encoding: string | undefined, decoded: (bytes: Buffer) => Buffer][] = [
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['gzip;q=0.5', 'gzip', gunzipSync],
    ['br;q=0, gzip', 'gzip', gunzipSync],
    ['br;q=0.5, gzip', 'gzip', gunzipSync],
    ['gzip;q=0.5, identity', undefined, (bytes) => bytes],
    ['identity', undefined, (bytes) => bytes],
  ];
  for (const [accepted, encoding, decoded] of cases) {
    const { status, headers, bytes } = await get(path, { 'accept-encoding': accepted });
    assert.deepEqual([status, headers['content-encoding'], headers.vary], [200, encoding, 'accept-encoding'], accepted);
    assert.equal(decoded(bytes).toString(), SCRIPT, accepted);
    assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
    assert.match(String(headers['content-type']), /^text\/javascript/);
  }
  assert.equal((await get('/ui/assets/font-3c4d.woff2')).headers['content-type'], 'font/woff2');
});

test('every other address below /ui is the page, which is not kept and may load nothing from elsewhere', async () => {
  for (const path of ['/ui', '/ui/', '/ui/models?find=x', '/ui/keys/abc']) {
    const { status, headers, bytes } = await get(path);
    assert.deepEqual([status, bytes.toString(), headers['cache-control']], [200, INDEX, 'no-store'], path);
    assert.equal(headers['content-security-policy'], POLICY);
    assert.equal(headers['permissions-policy'], PERMISSIONS);
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['referrer-policy'], 'no-referrer');
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
  }
});

test('a file that the build does not have is not found, whatever its path tries', async () => {
  for (const path of ['/ui/assets/other.js', '/ui/assets/../../secret.js', '/ui/assets/%2e%2e/%2e%2e/secret.js'])
    assert.equal((await get(path)).status, 404, path);
  assert.equal((await get('/ui/../../etc/passwd')).bytes.includes('root:'), false);
});

test('operators have them at the address of the admin API, and nobody where the dashboard is disabled', async () => {
  assert.equal(await (await fetch(`${gateway.adminUrl}/ui/keys`)).text(), INDEX);
  const other = await startTestGateway('ui: { enabled: false }', { pages: createPages(join(folder, 'ui')) });
  try {
    assert.equal((await fetch(`${other.url}/ui`)).status, 404);
    assert.match(
      await (await fetch(other.url, { headers: { accept: 'text/html' } })).text(),
      /It is ready for requests/,
    );
  } finally {
    await other.close();
  }
});

test('a later build is served without a start', async () => {
  const text = `${INDEX}<p>2</p>`;
  writeFileSync(join(folder, 'ui', 'index.html.br'), brotliCompressSync(text));
  writeFileSync(join(folder, 'ui', 'index.html.gz'), gzipSync(text));
  assert.equal((await get('/ui')).bytes.toString(), text);
});
