/** Media behind URLs, fetched from a real server through the guarded client. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Cancellation } from '../../src/core/cancellation.ts';
import type { ChatRequest, MediaPart, Part } from '../../src/core/chat.ts';
import { inlineMedia, refusePrivateUrls } from '../../src/inference/request/media.ts';
import { createAddressPolicy } from '../../src/net/address-policy.ts';
import { createGuardedClient, type FetchBytes } from '../../src/net/guarded-client.ts';
import { startHttps, type TestServer, testCa } from '../net/servers.ts';

const PNG = Buffer.from('\x89PNG\r\n\x1a\n-pixels', 'latin1');
const FILES: Record<string, { type?: string; bytes: Buffer }> = {
  '/picture': { type: 'application/octet-stream', bytes: PNG },
  '/picture.png': { type: 'image/png', bytes: PNG },
  '/claimed': { type: 'image/x-icon', bytes: Buffer.from('icon') },
  '/page': { type: 'text/html', bytes: Buffer.from('<html>') },
  '/unknown': { bytes: Buffer.from('?') },
  '/speech': { bytes: Buffer.from('\0\0\0\x18ftypisom....', 'latin1') },
  '/note': { type: 'text/plain; charset=utf-8', bytes: Buffer.from('grüß dich') },
  '/table': { type: 'text/csv', bytes: Buffer.from('a,b') },
  '/record': { type: 'application/json', bytes: Buffer.from('{}') },
  '/paper': { bytes: Buffer.from('%PDF-1.7') },
};

let server: TestServer;
let fetchBytes: FetchBytes;
let requests: string[] = [];

before(async () => {
  server = await startHttps((request, response) => {
    const path = request.url?.replace(/\?.*/, '') ?? '';
    requests.push(path);
    const file = FILES[path];
    if (path === '/big') response.writeHead(200, { 'content-length': 21 * 1024 * 1024 }).end();
    else if (path.startsWith('/large'))
      response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.alloc(17 * 1024 * 1024));
    else if (file) response.writeHead(200, file.type ? { 'content-type': file.type } : {}).end(file.bytes);
    else response.writeHead(404).end();
  });
  const policy = createAddressPolicy({ allowCidrs: ['127.0.0.0/8'] });
  fetchBytes = createGuardedClient({ policy, lookup: async () => ['127.0.0.1'], extraCa: testCa }).fetchBytes;
});
after(() => server.close());

const at = (path: string) => `https://media.example.com:${server.port}${path}`;
const media = (kind: MediaPart['kind'], path: string): MediaPart => ({ type: 'media', kind, url: at(path) });

function requestOf(...parts: Part[]): ChatRequest {
  return { stream: false, turns: [{ role: 'user', parts }], tools: [], dropped: [] };
}

async function inlined(parts: Part[], needs: { typed: boolean; inline: boolean }): Promise<Part[]> {
  requests = [];
  await inlineMedia(requestOf(...parts), needs, fetchBytes);
  return parts;
}

const GENERATE = { typed: true, inline: false };
const INLINE = { typed: false, inline: true };

describe('inlineMedia', () => {
  test('fetches for generate only URLs without a type in their name', async () => {
    const parts = await inlined([media('image', '/picture'), media('image', '/picture.png?size=2')], GENERATE);
    assert.deepEqual(parts, [
      { type: 'media', kind: 'image', mime: 'image/png', data: PNG.toString('base64') },
      { type: 'media', kind: 'image', mime: 'image/png', url: at('/picture.png?size=2') },
    ]);
    assert.deepEqual(requests, ['/picture']);
  });

  test('fetches nothing for targets that fetch themselves', async () => {
    await inlined([media('image', '/picture'), media('document', '/paper')], { typed: false, inline: false });
    assert.deepEqual(requests, []);
  });

  test('fetches every kind, nested ones too, for targets that fetch nothing', async () => {
    const image = media('image', '/picture.png');
    const parts: Part[] = [
      media('document', '/paper'),
      media('audio', '/speech'),
      media('document', '/note'),
      media('image', '/claimed'),
      { type: 'result', callId: '1', parts: [image] },
    ];
    await inlined(parts, INLINE);
    const base64 = (path: string) => FILES[path]?.bytes.toString('base64');
    assert.deepEqual(parts, [
      { type: 'media', kind: 'document', mime: 'application/pdf', data: base64('/paper') },
      { type: 'media', kind: 'audio', mime: 'audio/mp4', data: base64('/speech') },
      { type: 'media', kind: 'document', mime: 'text/plain', text: 'grüß dich' },
      { type: 'media', kind: 'image', mime: 'image/x-icon', data: base64('/claimed') },
      {
        type: 'result',
        callId: '1',
        parts: [{ type: 'media', kind: 'image', mime: 'image/png', data: PNG.toString('base64') }],
      },
    ]);
  });

  test('reads every document of text as text', async () => {
    const parts = await inlined([media('document', '/table'), media('document', '/record')], INLINE);
    assert.deepEqual(parts, [
      { type: 'media', kind: 'document', mime: 'text/csv', text: 'a,b' },
      { type: 'media', kind: 'document', mime: 'application/json', text: '{}' },
    ]);
  });

  test('fetches the same URL once', async () => {
    const parts = await inlined([media('image', '/picture'), media('image', '/picture')], INLINE);
    assert.deepEqual(requests, ['/picture']);
    assert.deepEqual(parts[0], parts[1]);
  });

  test('does not fetch URLs that only the provider can open', async () => {
    const urls = [
      'gs://bucket/a',
      'https://www.youtube.com/watch?v=1',
      'https://generativelanguage.googleapis.com/v1beta/files/abc',
    ];
    const parts = urls.map((url): Part => ({ type: 'media', kind: 'video', url }));
    assert.deepEqual(await inlined(structuredClone(parts), GENERATE), parts);
    assert.deepEqual(requests, []);
  });

  test('detects the type of data without one', async () => {
    const [part] = await inlined([{ type: 'media', kind: 'image', data: PNG.toString('base64') }], GENERATE);
    assert.equal((part as MediaPart).mime, 'image/png');
  });

  test('names the URL, without its query, when it fails', async () => {
    const cases: [Part, RegExp][] = [
      [media('image', '/missing?secret=1'), /^image URL https:\/\/media\.example\.com:\d+\/missing: .* status 404/],
      [media('image', '/page'), /^image URL \S+: the content is text\/html\.$/],
      [media('document', '/unknown'), /^document URL \S+: its media type is unknown\.$/],
      [media('audio', '/big'), /^audio URL \S+: The content is larger than 20971520 bytes\.$/],
      [
        { type: 'media', kind: 'image', url: 'http://example.com/x' },
        /^image URL http:\S+: only https addresses on the public internet/,
      ],
      [
        { type: 'media', kind: 'image', url: 'https://10.0.0.1/x' },
        /^image URL \S+: only addresses on the public internet/,
      ],
      [
        { type: 'media', kind: 'image', url: 'https://a:b@example.com/' },
        /^image URL https:\/\/example.com\/: user names/,
      ],
    ];
    for (const [part, message] of cases) {
      await assert.rejects(inlined([part], INLINE), { name: 'GatewayError', code: 'invalid_request', message });
    }
  });

  test('limits the total size of all media', async () => {
    const parts = ['a', 'b', 'c', 'd'].map((name) => media('image', `/large-${name}`));
    await assert.rejects(inlined(parts, INLINE), { code: 'payload_too_large' });
  });

  test('stops when the client disconnects', async () => {
    const needs = { ...INLINE, client: cancelled() };
    await assert.rejects(inlineMedia(requestOf(media('image', '/picture')), needs, fetchBytes), {
      code: 'client_closed',
    });
  });
});

describe('refusePrivateUrls', () => {
  const withUrl = (url: string) =>
    requestOf({ type: 'result', callId: '1', parts: [{ type: 'media', kind: 'image', url }] });

  test('refuses private hosts in all spellings', async () => {
    for (const url of [
      ...[
        'https://127.0.0.1/a.png',
        'http://169.254.169.254/latest',
        'https://[::1]/',
        'https://localhost/',
        'https://2130706433/',
      ],
      ...['https://metadata.google.internal/', 'file:///etc/passwd', 'https://www.youtube.com@127.0.0.1/'],
    ]) {
      await assert.rejects(refusePrivateUrls(withUrl(url)), { code: 'invalid_request', message: /^image URL / }, url);
    }
  });

  test('lets public ones and the provider’s own storage pass', async () => {
    for (const url of [
      'https://example.com/a.png',
      'http://example.com/a',
      'gs://bucket/a',
      's3://bucket/a',
      'https://youtu.be/x',
    ]) {
      await refusePrivateUrls(withUrl(url));
    }
  });
});

function cancelled(): Cancellation {
  const cancellation = new Cancellation();
  cancellation.cancel();
  return cancellation;
}
