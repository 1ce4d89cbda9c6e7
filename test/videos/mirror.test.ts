/** Mirror downloads: stored and refused videos, resumption, and the origins that get the credential. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { GatewayError } from '../../src/core/errors.ts';
import { createGuardedClient } from '../../src/net/guarded-client.ts';
import { createTrustedClient } from '../../src/net/trusted-client.ts';
import { createManualClock, type ManualClock } from '../jobs/manual-clock.ts';
import { startHttps, type TestServer } from '../net/servers.ts';
import { box, makeVideo, type Origin, serve, startOrigin, TASK, type TestMirror, testMirror } from './mirror-origin.ts';

const windows = process.platform === 'win32';
const video = makeVideo(300_000);
const sha256 = createHash('sha256').update(video).digest('hex');
const name = `${TASK}/0-${sha256.slice(0, 16)}.mp4`;
const IDLE_MS = 300;
const credential = { authorization: 'Bearer secret' };

let origin: Origin;
let listener: Parameters<typeof startOrigin>[0];
let kept: TestMirror;
let clock: ManualClock;
const source = (path = '/video') => ({ type: 'path', url: `${origin.url}${path}`, headers: credential }) as const;

before(async () => {
  origin = await startOrigin((request, response) => listener(request, response));
});
after(() => origin.close());
beforeEach(() => {
  listener = serve(video);
  clock = createManualClock(Date.now());
  kept = testMirror({ clock, limits: { idleMs: IDLE_MS, maxBytes: 1_000_000 } });
  origin.seen.length = 0;
});
afterEach(() => kept.close());

/** Resolves when the partial file has so many bytes; rejects if `saving` ends before. */
async function arrival(bytes: number, saving: Promise<unknown>): Promise<void> {
  const path = join(kept.folder, 'videos', TASK, '0.part');
  let end: string | undefined;
  saving.then(
    () => (end = 'it was saved'),
    (error: unknown) => (end = String(error)),
  );
  while ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) < bytes) {
    assert.equal(end, undefined, `fewer than ${bytes} bytes arrived`);
    await pause(2);
  }
}

/** Keeps a video whose server goes silent after `bytes`: lets the idle timeout pass then. */
async function keepUntilSilent(bytes: number, path?: string): Promise<unknown> {
  const before = origin.seen.length;
  const saving = kept.keep(source(path));
  let hasEnded = false;
  const onEnd = () => {
    hasEnded = true;
  };
  saving.then(onEnd, onEnd);
  while (origin.seen.length === before) await pause(2);
  await arrival(bytes, saving);
  // The timeout starts anew shortly after a chunk is in the file.
  while (!hasEnded) {
    clock.advance(IDLE_MS);
    await pause(2);
  }
  return await saving;
}

/** Paths under a folder that other users may read. */
function openPaths(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true }).map(String);
  assert.ok(names.length > 1);
  return names.filter((path) => (statSync(join(folder, path)).mode & 0o077) !== 0);
}

describe('a video', () => {
  test('is stored under its hash, with the duration from the file', async () => {
    const result = await kept.keep(source());
    assert.deepEqual(result, {
      file: `local:videos/${name}`,
      sha256,
      bytes: video.length,
      mime: 'video/mp4',
      seconds: 2.5,
    });
    assert.deepEqual(readFileSync(join(kept.folder, 'videos', name)), video);
    assert.equal(origin.seen[0]?.headers.authorization, 'Bearer secret');
  });

  test('is downloaded once for repeated requests', async () => {
    const first = await kept.keep(source());
    assert.deepEqual(await kept.keep(source()), first);
    assert.equal(origin.seen.length, 1);
  });

  test('is downloaded once for two concurrent requests', async () => {
    const [first, second] = await Promise.all([kept.keep(source()), kept.keep(source())]);
    assert.deepEqual(first, second);
    assert.equal(origin.seen.length, 1);
  });

  test('is readable by the owner only from its first byte, whatever the umask', { skip: windows }, async () => {
    const umask = process.umask(0);
    try {
      const fresh = testMirror({ clock, limits: { idleMs: IDLE_MS, maxBytes: 1_000_000 } });
      listener = (_request, response) => {
        response.writeHead(200, { 'content-length': video.length, etag: '"one"' }).write(video.subarray(0, 200_000));
        setTimeout(() => response.destroy(), 50);
      };
      await assert.rejects(fresh.keep(source()));
      assert.deepEqual(openPaths(fresh.folder), []);
      listener = serve(video);
      await fresh.keep(source());
      assert.deepEqual(openPaths(fresh.folder), []);
      assert.ok(readdirSync(join(fresh.folder, 'videos', TASK)).some((file) => file.endsWith('.mp4')));
      await fresh.close();
    } finally {
      process.umask(umask);
    }
  });

  test('can have no Content-Length', async () => {
    listener = (_request, response) => void response.writeHead(200).end(video);
    assert.equal((await kept.keep(source()))?.sha256, sha256);
  });

  test('can be inline, as base64 or bytes', async () => {
    const large = makeVideo(3_000_001);
    for (const data of [large.toString('base64'), large]) {
      const roomy = testMirror();
      const result = await roomy.keep({ type: 'data', data });
      assert.equal(result?.sha256, createHash('sha256').update(large).digest('hex'));
      await roomy.close();
    }
  });

  test('in WebM has the media type of WebM', async () => {
    const webm = Buffer.concat([Buffer.from('1a45dfa3', 'hex'), Buffer.alloc(100)]);
    const result = await kept.keep({ type: 'data', data: webm.toString('base64') });
    assert.match(result?.file ?? '', /\.webm$/);
    assert.equal(result?.mime, 'video/webm');
  });

  test('is deleted with its task', async () => {
    const result = await kept.keep(source());
    assert.ok(result);
    assert.equal(await kept.mirror.has(result), true);
    await kept.mirror.erase({ id: TASK, owner: 'o' }, [result]);
    assert.equal(await kept.mirror.has(result), false);
    await kept.mirror.erase({ id: TASK, owner: 'o' }, [result]);
    assert.deepEqual(kept.files(), []);
  });
});

describe('a video that is not stored leaves no file', () => {
  const large = makeVideo(1_000_001);
  const cases: Record<string, [Parameters<typeof startOrigin>[0], RegExp]> = {
    'a length over the cap': [serve(large), /larger than 1000000 bytes/],
    'a body over the cap': [(_request, response) => void response.writeHead(200).end(large), /larger/],
    'no video': [(_request, response) => void response.writeHead(200).end('<html>not a video</html>'), /not a video/],
    'an empty body': [(_request, response) => void response.writeHead(200).end(), /not a video/],
    'a compressed body': [serve(video, { headers: { 'content-encoding': 'gzip' } }), /compressed/],
    'a redirect to nowhere': [(_request, response) => void response.writeHead(302).end(), /address/],
    'redirects without end': [
      (request, response) => void response.writeHead(302, { location: `${request.url}x` }).end(),
      /address/,
    ],
  };
  for (const [title, [next, reason]] of Object.entries(cases)) {
    test(title, async () => {
      listener = next;
      assert.equal(await kept.keep(source()), undefined);
      assert.deepEqual(kept.files(), []);
      assert.match(kept.reasons.join(), reason);
    });
  }

  test('a Content-Length over the limit is refused before the first byte', async () => {
    listener = (_request, response) => response.writeHead(200, { 'content-length': 1_000_001 }).flushHeaders();
    assert.equal(await kept.keep(source()), undefined);
  });

  test('base64 over the limit, and base64 that is not a video', async () => {
    for (const bytes of [large, Buffer.alloc(100)]) {
      assert.equal(await kept.keep({ type: 'data', data: bytes.toString('base64') }), undefined);
    }
    assert.deepEqual(kept.files(), []);
  });

  test('any video on a disk that is nearly full', async () => {
    const full = testMirror({ reserveBytes: Number.MAX_SAFE_INTEGER });
    assert.equal(await full.keep(source()), undefined);
    assert.deepEqual([full.files(), full.reasons], [[], ['the disk has no room for it']]);
    assert.equal(origin.seen.length, 0);
    await full.close();
  });

  test('any video if the mirror is disabled', async () => {
    const off = testMirror({ store: { type: 'off' } });
    assert.equal(await off.keep(source()), undefined);
    assert.equal(origin.seen.length, 0);
    await off.close();
  });
});

describe('failures that can succeed later', () => {
  test('the error of a refused URL names the status', async () => {
    for (const status of [403, 404, 410, 500]) {
      listener = (_request, response) => void response.writeHead(status).end();
      await assert.rejects(kept.keep(source()), { code: 'upstream_content_unavailable', upstreamStatus: status });
    }
    assert.deepEqual(kept.files(), []);
  });

  test('the body of an unexpected response is not read', async () => {
    const closed = Promise.withResolvers<void>();
    listener = (_request, response) => {
      response.on('close', closed.resolve);
      response.writeHead(500).write('and so on');
    };
    await assert.rejects(kept.keep(source()), { upstreamStatus: 500 });
    await closed.promise;
  });

  test('an interrupted body is resumed where it stopped, also at a new URL', async () => {
    listener = serve(video, { until: 100_000 });
    await assert.rejects(keepUntilSilent(100_000, '/old'), GatewayError);
    listener = serve(video);
    assert.equal((await kept.keep(source('/fresh')))?.sha256, sha256);
    assert.deepEqual(
      origin.seen.map(({ path, headers }) => [path, headers.range, headers['if-range']]),
      [
        ['/old', undefined, undefined],
        ['/fresh', 'bytes=100000-', '"v1"'],
      ],
    );
  });

  test('a body interrupted at a URL that then returns 403 is resumed at the next URL', async () => {
    listener = serve(video, { until: 100_000 });
    await assert.rejects(keepUntilSilent(100_000));
    listener = (_request, response) => void response.writeHead(403).end();
    await assert.rejects(kept.keep(source()), { upstreamStatus: 403 });
    listener = serve(video);
    assert.equal((await kept.keep(source()))?.sha256, sha256);
    assert.equal(origin.seen.at(-1)?.headers.range, 'bytes=100000-');
  });

  test('another version is downloaded from the start', async () => {
    listener = serve(makeVideo(300_000), { until: 100_000 });
    await assert.rejects(keepUntilSilent(100_000));
    listener = serve(video, { etag: '"v2"' });
    assert.equal((await kept.keep(source()))?.sha256, sha256);
  });

  test('a response with another version or range is refused', async () => {
    for (const wrong of [
      { etag: '"v2"', 'content-range': `bytes 100000-299999/300000` },
      { etag: '"v1"', 'content-range': `bytes 99999-299999/300000` },
      { etag: '"v1"', 'content-range': `bytes 100000-299998/299999` },
    ]) {
      listener = serve(video, { until: 100_000 });
      await assert.rejects(keepUntilSilent(100_000));
      listener = (_request, response) => void response.writeHead(206, wrong).end(video.subarray(100_000));
      await assert.rejects(kept.keep(source()), { upstreamStatus: 206 });
      listener = serve(video);
      assert.equal((await kept.keep(source()))?.sha256, sha256);
      assert.equal(origin.seen.at(-1)?.headers.range, undefined);
      await kept.mirror.erase({ id: TASK, owner: 'o' }, []);
    }
  });

  test('a download without a validator is not resumed', async () => {
    listener = (_request, response) => {
      response.writeHead(200, { 'content-length': video.length });
      response.write(video.subarray(0, 100_000), () => setImmediate(() => response.destroy()));
    };
    await assert.rejects(kept.keep(source()), GatewayError);
    assert.deepEqual(kept.files(), []);
  });

  test('a damaged checkpoint restarts the download', async () => {
    listener = serve(video, { until: 100_000 });
    await assert.rejects(keepUntilSilent(100_000));
    writeFileSync(join(kept.folder, 'videos', TASK, '0.part.json'), '{"bytes":100');
    listener = serve(video);
    assert.equal((await kept.keep(source()))?.sha256, sha256);
    assert.equal(origin.seen.at(-1)?.headers.range, undefined);
  });

  test('a silent server times out, before its response and during the body', async () => {
    for (const silent of [() => {}, serve(video, { until: 0 })] satisfies Parameters<typeof startOrigin>[0][]) {
      listener = silent;
      await assert.rejects(keepUntilSilent(0), GatewayError);
    }
    listener = (_request, response) =>
      void response.writeHead(200, { 'content-length': 1000 }).write(video.subarray(0, 100));
    await assert.rejects(keepUntilSilent(100), { outcome: 'timeout' });
  });

  test('a slow server ends at the total timeout', async () => {
    const impatient = testMirror({ clock, folder: kept.folder, limits: { idleMs: 1000, totalMs: 300 } });
    listener = (_request, response) => {
      response.writeHead(200, { 'content-length': 1000 }).write(video.subarray(0, 100));
      const drip = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(drip));
    };
    const saving = impatient.keep(source());
    const refused = assert.rejects(saving);
    await arrival(110, saving);
    clock.advance(300);
    await refused;
    await impatient.close();
  });

  test('an abort keeps the received bytes and rejects with its reason', async () => {
    const stop = new AbortController();
    const reason = new Error('stopping');
    listener = serve(video, { until: 200_000 });
    const saving = kept.mirror.save({ id: TASK, owner: 'o' }, 0, source(), stop.signal);
    const refused = assert.rejects(saving, (thrown) => thrown === reason);
    await arrival(200_000, saving);
    stop.abort(reason);
    await refused;
    listener = serve(video);
    assert.equal((await kept.keep(source()))?.sha256, sha256);
    assert.equal(origin.seen.at(-1)?.headers.range, 'bytes=200000-');
  });
});

describe('the credential is sent only to the origin of the provider', () => {
  let foreign: TestServer;
  let heard: (string | undefined)[];
  before(async () => {
    foreign = await startHttps((request, response) => {
      heard.push(request.headers.authorization);
      if (request.url === '/back') response.writeHead(302, { location: `${origin.url}/home` }).end();
      else serve(video)(request, response);
    });
  });
  after(() => foreign.close());
  beforeEach(() => {
    heard = [];
  });
  const elsewhere = (path: string) => `https://media.example.com:${foreign.port}${path}`;

  test('a redirect to the same origin gets it', async () => {
    listener = (request, response) => {
      if (request.url === '/video') response.writeHead(307, { location: '/elsewhere' }).end();
      else serve(video)(request, response);
    };
    assert.ok(await kept.keep(source()));
    assert.deepEqual(
      origin.seen.map(({ headers }) => headers.authorization),
      ['Bearer secret', 'Bearer secret'],
    );
  });

  test('a redirect to another origin does not get it', async () => {
    listener = (_request, response) => void response.writeHead(302, { location: elsewhere('/x') }).end();
    assert.equal((await kept.keep(source()))?.sha256, sha256);
    assert.deepEqual(heard, [undefined]);
  });

  test('a redirect back from another origin does not get it', async () => {
    listener = (_request, response) => void response.writeHead(302, { location: elsewhere('/back') }).end();
    assert.equal(await kept.keep(source()), undefined);
    assert.deepEqual(heard, [undefined]);
    assert.equal(origin.seen.length, 1);
  });

  test('a URL of another origin does not get it', async () => {
    assert.ok(await kept.keep({ type: 'url', url: elsewhere('/x') }));
    assert.deepEqual(heard, [undefined]);
  });

  test('a redirect to a private address is not followed', async () => {
    const clients = { trusted: createTrustedClient(), guarded: createGuardedClient() };
    const strict = testMirror({ clients });
    for (const location of [
      'http://169.254.169.254/latest/meta-data',
      'https://169.254.169.254/latest/meta-data',
      `https://127.0.0.1:${foreign.port}/x`,
      `https://localhost:${foreign.port}/x`,
      'file:///etc/passwd',
    ]) {
      listener = (_request, response) => void response.writeHead(302, { location }).end();
      assert.equal(await strict.keep(source()), undefined, location);
      assert.equal(await strict.keep({ type: 'url', url: location }), undefined, location);
    }
    assert.equal(heard.length, 0);
    assert.deepEqual(strict.files(), []);
    await clients.trusted.close();
    await strict.close();
  });
});

describe('the duration of a video', () => {
  const head = box('ftyp', Buffer.from('isom\0\0\0\0isom'));
  const lengthOf = async (bytes: Buffer) =>
    (await kept.keep({ type: 'data', data: bytes.toString('base64') }))?.seconds;

  test('is found after the media data, and in its 64-bit form', async () => {
    const header = Buffer.alloc(120);
    header[0] = 1;
    header.writeUInt32BE(600, 20);
    header.writeBigUInt64BE(4800n, 24);
    const wide = Buffer.alloc(16);
    wide.writeUInt32BE(1);
    wide.write('mdat', 4);
    wide.writeBigUInt64BE(116n, 8);
    assert.equal(await lengthOf(Buffer.concat([head, wide, Buffer.alloc(100), box('moov', box('mvhd', header))])), 8);
  });

  test('is unknown if the file lacks it or is damaged', async () => {
    const endless = Buffer.from([0, 0, 0, 0, ...Buffer.from('free')]);
    for (const rest of [
      Buffer.alloc(0),
      endless,
      box('moov', Buffer.alloc(0)),
      Buffer.from([0, 0, 0, 2, 1, 1, 1, 1]),
    ]) {
      await kept.mirror.erase({ id: TASK, owner: 'o' }, []);
      assert.equal(await lengthOf(Buffer.concat([head, rest])), undefined);
    }
  });
});
