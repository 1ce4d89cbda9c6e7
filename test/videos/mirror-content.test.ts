/** Video content as an HTTP response: ranges and conditional requests, from the mirror and proxied from the upstream. */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, beforeEach, describe, test } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import type { MirroredFile } from '../../src/records/video-task.ts';
import { createContentReader } from '../../src/videos/mirror/content.ts';
import type { Content, ContentResponse } from '../../src/videos/mirror/index.ts';
import type { DownloadClients } from '../../src/videos/mirror/source.ts';
import type { AssetSource } from '../../src/videos/mirror.ts';
import { startHttps, type TestServer } from '../net/servers.ts';
import { makeVideo, type Origin, serve, startOrigin, TASK, type TestMirror, testMirror } from './mirror-origin.ts';

const video = makeVideo(100_000);
const size = video.length;
const live = new AbortController().signal;

let mirror: TestMirror;
let kept: MirroredFile;
let inline: AssetSource;
let etag: string;
before(async () => {
  mirror = testMirror();
  inline = { type: 'data', data: video.toString('base64') };
  kept = (await mirror.keep(inline)) as MirroredFile;
  etag = `"${kept.sha256}"`;
});
after(() => mirror.close());

type Headers = Record<string, string>;

function ask(content: Content, headers: Headers = {}, method: 'GET' | 'HEAD' = 'GET'): Promise<ContentResponse> {
  return mirror.mirror.openContent(content, { method, headers, name: `${TASK}-0`, signal: live });
}

const bytesOf = ({ body }: ContentResponse) => (body ? buffer(body) : undefined);

for (const [place, content] of [
  ['a mirrored file', () => ({ type: 'kept', kept }) as const],
  ['base64', () => ({ type: 'upstream', owner: 'key-1', source: inline }) as const],
  ['memory', () => ({ type: 'upstream', owner: 'key-1', source: { type: 'data', data: video } }) as const],
] as const) {
  describe(`from ${place}`, () => {
    test('a request without a range gets the whole file with its media type, length and validators', async () => {
      const response = await ask(content());
      assert.equal(response.status, 200);
      assert.deepEqual(response.headers, {
        'content-type': 'video/mp4',
        'content-length': String(size),
        'content-disposition': `inline; filename="${TASK}-0.mp4"`,
        'x-content-type-options': 'nosniff',
        'cache-control': 'private',
        'accept-ranges': 'bytes',
        etag,
      });
      assert.deepEqual(await bytesOf(response), video);
    });

    test('HEAD gets the headers of the whole file without a body, whatever its range', async () => {
      for (const headers of [{}, { range: 'bytes=0-9' }] as Headers[]) {
        const response = await ask(content(), headers, 'HEAD');
        assert.equal(response.status, 200);
        assert.equal(response.headers['content-length'], String(size));
        assert.equal(response.body, undefined);
      }
    });

    const ranges: [string, number, number][] = [
      ['bytes=0-0', 0, 0],
      ['bytes=10-19', 10, 19],
      ['bytes=99990-', 99990, 99999],
      ['bytes=99990-200000', 99990, 99999],
      ['bytes=-10', 99990, 99999],
      ['bytes=-200000', 0, 99999],
      ['Bytes= 5-6 ', 5, 6],
    ];
    for (const [range, start, end] of ranges) {
      test(`${range} gets a 206 with that range`, async () => {
        const response = await ask(content(), { range });
        assert.equal(response.status, 206);
        assert.equal(response.headers['content-range'], `bytes ${start}-${end}/${size}`);
        assert.equal(response.headers['content-length'], String(end - start + 1));
        assert.deepEqual(await bytesOf(response), video.subarray(start, end + 1));
      });
    }

    for (const range of ['bytes=100000-', 'bytes=100000-100001', 'bytes=-0']) {
      test(`${range} is outside the file and gets a 416`, async () => {
        const response = await ask(content(), { range });
        assert.deepEqual([response.status, response.headers['content-range']], [416, `bytes */${size}`]);
        assert.equal(response.body, undefined);
      });
    }

    for (const range of ['bytes=9-5', 'bytes=-', 'bytes=a-b', 'bytes=0-1,4-5', 'items=0-1', 'bytes 0-1', '']) {
      test(`"${range}" is not a single range and gets the whole file`, async () => {
        const response = await ask(content(), { range });
        assert.equal(response.status, 200);
        assert.equal((await bytesOf(response))?.length, size);
      });
    }

    test('If-Range with another version gets the whole file', async () => {
      for (const [condition, status] of [
        [etag, 206],
        ['"other"', 200],
        [`W/${etag}`, 200],
        ['Sat, 21 Nov 2026 05:00:00 GMT', 200],
      ] as const) {
        const response = await ask(content(), { range: 'bytes=0-0', 'if-range': condition });
        assert.equal(response.status, status, condition);
        response.body?.destroy();
      }
    });

    test('a client that has the current version gets a 304', async () => {
      for (const condition of [etag, `W/${etag}`, `"a", ${etag}`, '*']) {
        const response = await ask(content(), { 'if-none-match': condition, range: 'bytes=0-0' });
        assert.deepEqual([response.status, response.body, response.headers.etag], [304, undefined, etag]);
      }
      (await ask(content(), { 'if-none-match': '"other"' })).body?.destroy();
    });
  });
}

test('videos from base64 that are being sent have a bound of memory, which one key cannot take from the others', async (context) => {
  const openContent = createContentReader({} as DownloadClients, () => undefined, systemClock, 2.5 * size);
  const open = (owner: string, method: 'GET' | 'HEAD' = 'GET') =>
    openContent({ type: 'upstream', owner, source: inline }, { method, headers: {}, name: TASK, signal: live });
  const own = await open('key-1');
  context.after(() => own.body?.destroy());
  const refused = { code: 'unavailable', retryAfter: 5000 };
  await assert.rejects(open('key-1'), refused);
  assert.equal((await open('key-1', 'HEAD')).status, 200);
  const other = await open('key-2');
  await assert.rejects(open('key-3'), refused);
  assert.deepEqual(await bytesOf(other), video);
  (await open('key-3')).body?.destroy();
});

test('a missing or changed file is reported as expired', async () => {
  const other = testMirror();
  const result = (await other.keep(inline)) as MirroredFile;
  rmSync(join(other.folder, 'videos', TASK), { recursive: true });
  for (const gone of [result, { ...kept, bytes: 5 }, { ...kept, file: `s3:videos/${TASK}/0-abc.mp4` }]) {
    for (const method of ['GET', 'HEAD'] as const) {
      const request = { method, headers: {}, name: 'x', signal: live };
      const from = gone === result ? other.mirror : mirror.mirror;
      await assert.rejects(from.openContent({ type: 'kept', kept: gone }, request), { code: 'video_content_expired' });
    }
  }
  await other.close();
});

describe('content proxied from the upstream', () => {
  let origin: Origin;
  let foreign: TestServer;
  let listener: Parameters<typeof startOrigin>[0];
  let credentials: (string | undefined)[];
  before(async () => {
    origin = await startOrigin((request, response) => listener(request, response));
    foreign = await startHttps((request, response) => {
      credentials.push(request.headers.authorization);
      serve(video)(request, response);
    });
  });
  after(async () => {
    await origin.close();
    await foreign.close();
  });
  beforeEach(() => {
    listener = serve(video);
    credentials = [];
    origin.seen.length = 0;
  });
  const path = (name = '/video') =>
    ({ type: 'path', url: `${origin.url}${name}`, headers: { authorization: 'Bearer secret' } }) as const;

  test('the request carries the credential, and only known response headers are passed on', async () => {
    listener = serve(video, { headers: { 'set-cookie': 'a=b', 'x-account': 'acme', 'content-type': 'video/webm' } });
    const result = await ask({ type: 'upstream', owner: 'key-1', source: path() });
    assert.equal(result.status, 200);
    assert.deepEqual(result.headers, {
      'content-type': 'video/webm',
      'content-length': String(size),
      'content-disposition': `inline; filename="${TASK}-0.webm"`,
      'x-content-type-options': 'nosniff',
      'cache-control': 'private',
      'accept-ranges': 'bytes',
      etag: '"v1"',
    });
    assert.deepEqual(await bytesOf(result), video);
    assert.equal(origin.seen[0]?.headers.authorization, 'Bearer secret');
  });

  test('another media type of the upstream is replaced by that of a video', async () => {
    listener = serve(video, { headers: { 'content-type': 'text/html' } });
    const result = await ask({ type: 'upstream', owner: 'key-1', source: path() });
    assert.equal(result.headers['content-type'], 'video/mp4');
    result.body?.destroy();
  });

  test('ranges and conditions are passed on, other headers are not', async () => {
    const headers = { range: 'bytes=99990-', 'if-range': '"v1"', cookie: 'a=b', authorization: 'Bearer of-the-caller' };
    const result = await ask({ type: 'upstream', owner: 'key-1', source: path() }, headers);
    assert.deepEqual([result.status, result.headers['content-range']], [206, `bytes 99990-99999/${size}`]);
    assert.deepEqual(await bytesOf(result), video.subarray(99990));
    assert.equal(origin.seen[0]?.headers.cookie, undefined);
    assert.equal(origin.seen[0]?.headers.authorization, 'Bearer secret');
  });

  test('several ranges get the whole file, because a body of several parts is no video', async () => {
    listener = (request, response) => {
      if (request.headers.range === undefined) return serve(video)(request, response);
      response.writeHead(206, { 'content-type': 'multipart/byteranges; boundary=part' }).end('--part--');
    };
    const headers = { range: 'bytes=0-1,4-5', 'if-range': '"v1"' };
    const result = await ask({ type: 'upstream', owner: 'key-1', source: path() }, headers);
    assert.equal(result.status, 200);
    assert.deepEqual(await bytesOf(result), video);
  });

  test('304 and 416 have no body', async () => {
    for (const status of [304, 416] as const) {
      listener = (_request, response) => void response.writeHead(status, { 'content-range': `bytes */${size}` }).end();
      const result = await ask({ type: 'upstream', owner: 'key-1', source: path() }, { range: 'bytes=200000-' });
      assert.deepEqual([result.status, result.body], [status, undefined]);
    }
  });

  test('HEAD sends a GET, because signed URLs are valid for one method', async () => {
    const methods: (string | undefined)[] = [];
    listener = (request, response) => {
      methods.push(request.method);
      serve(video)(request, response);
    };
    const result = await ask({ type: 'upstream', owner: 'key-1', source: path() }, { range: 'bytes=0-0' }, 'HEAD');
    assert.deepEqual([result.status, result.headers['content-length'], result.body], [200, String(size), undefined]);
    assert.deepEqual(methods, ['GET']);
  });

  test('a URL of another origin gets no credential', async () => {
    const url = `https://media.example.com:${foreign.port}/x`;
    assert.deepEqual(
      await bytesOf(await ask({ type: 'upstream', owner: 'key-1', source: { type: 'url', url } })),
      video,
    );
    assert.deepEqual(credentials, [undefined]);
  });

  test('an expired URL is renewed once', async () => {
    listener = (request, response) => {
      if (request.url === '/old') response.writeHead(403).end();
      else serve(video)(request, response);
    };
    const source = path('/old');
    assert.deepEqual(
      await bytesOf(await ask({ type: 'upstream', owner: 'key-1', source, refresh: async () => path('/new') })),
      video,
    );
    for (const refresh of [undefined, async () => undefined, async () => path('/old')]) {
      const content: Content = refresh
        ? { type: 'upstream', owner: 'key-1', source, refresh }
        : { type: 'upstream', owner: 'key-1', source };
      await assert.rejects(ask(content), { code: 'upstream_content_unavailable', status: 502, upstreamStatus: 403 });
    }
  });

  test('the response of an expired URL is closed before the new URL is requested', async () => {
    const closed = Promise.withResolvers<void>();
    listener = (request, response) => {
      if (request.url !== '/old') return serve(video)(request, response);
      response.on('close', closed.resolve);
      response.writeHead(403).write('and so on');
    };
    const refresh = async () => {
      await closed.promise;
      return path('/new');
    };
    (await ask({ type: 'upstream', owner: 'key-1', source: path('/old'), refresh })).body?.destroy();
  });

  test('a failing, unexpected or forbidden upstream makes the content unavailable', async () => {
    listener = (_request, response) => void response.writeHead(500).end();
    const sources: AssetSource[] = [
      path(),
      { type: 'path', url: 'http://127.0.0.1:1/', headers: {} },
      { type: 'url', url: 'https://10.0.0.1/' },
      { type: 'url', url: 'nonsense' },
    ];
    for (const source of sources) {
      await assert.rejects(ask({ type: 'upstream', owner: 'key-1', source }), { code: 'upstream_content_unavailable' });
    }
  });

  test('a client that disconnects ends the upstream connection', async () => {
    const closed = Promise.withResolvers<void>();
    listener = (_request, response) => {
      response.on('close', closed.resolve);
      response.writeHead(200).write(video);
    };
    (await ask({ type: 'upstream', owner: 'key-1', source: path() })).body?.destroy();
    await closed.promise;
  });

  test('a slow client slows the upstream down', async () => {
    let sent = 0;
    listener = async (_request, response) => {
      response.writeHead(200);
      for (; sent < 400 && !response.destroyed; sent++) {
        if (!response.write(video)) await new Promise((drained) => response.once('drain', drained));
      }
      response.end();
    };
    const { body } = await ask({ type: 'upstream', owner: 'key-1', source: path() });
    await new Promise((later) => setTimeout(later, 200));
    assert.ok(sent < 390, `${sent} of 400 were taken before anyone read`);
    body?.destroy();
  });
});
