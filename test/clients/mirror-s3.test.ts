/** The mirror in an S3-compatible store: bytes against a server, signatures against the signer of the AWS SDK. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { S3Client } from '@aws-sdk/client-s3';
import { S3RequestPresigner } from '@aws-sdk/s3-request-presigner';
import { createS3Requests, type S3Options } from '../../src/net/s3-requests.ts';
import type { MirroredFile } from '../../src/records/video-task.ts';
import { Secret } from '../../src/security/secret.ts';
import { makeVideo, TASK, type TestMirror, testMirror } from '../videos/mirror-origin.ts';

interface StoreServer {
  configureBuckets(): Promise<void>;
  run(): Promise<AddressInfo>;
  httpServer: Server;
  close(): Promise<void>;
}
const S3rver: new (options: object) => StoreServer = createRequire(import.meta.url)('s3rver');

const HOUR = 3_600_000;
const moment = Date.UTC(2026, 10, 21, 5, 17, 3);
const account = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };
const bucket = 'videos';

function optionsFor(endpoint: string, more: Partial<S3Options> = {}): S3Options {
  const secretAccessKey = new Secret(account.secretAccessKey);
  return {
    endpoint,
    region: 'eu-central-1',
    bucket,
    prefix: 'poly gate/',
    ...account,
    secretAccessKey,
    pathStyle: true,
    ...more,
  };
}

describe('an object store', () => {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-s3-'));
  const video = makeVideo(300_000, 4);
  const source = { type: 'data', data: video.toString('base64') } as const;
  let server: Server;
  let endpoint: string;
  let home: TestMirror;
  before(async () => {
    const place = { port: 0, address: '127.0.0.1', directory: folder };
    const store = new S3rver({ ...place, silent: true, configureBuckets: [{ name: bucket, configs: [] }] });
    await store.configureBuckets();
    await store.run();
    server = store.httpServer;
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    home = testMirror({ store: { type: 's3', ...optionsFor(endpoint) } });
  });
  afterEach(() => home.close());

  const ask = (kept: MirroredFile, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
    home.mirror.openContent(
      { type: 'kept', kept },
      { method, headers, name: 'x', signal: new AbortController().signal },
    );
  const keep = async (id = TASK) => (await home.keep(source, id)) as MirroredFile;

  test('takes a video and leaves nothing of it here but a note', async () => {
    const kept = await keep();
    assert.equal(kept.file, `s3:videos/${TASK}/0-${kept.sha256.slice(0, 16)}.mp4`);
    assert.equal(kept.seconds, 4);
    assert.deepEqual(home.files(), [`${TASK}/0.part.kept.json`]);
    assert.deepEqual(await keep(), kept);
  });

  test('gives it back, whole, in ranges, and to HEAD', async () => {
    const kept = await keep();
    const whole = await ask(kept);
    assert.deepEqual(
      [whole.status, whole.headers['content-type'], whole.headers.etag],
      [200, 'video/mp4', `"${kept.sha256}"`],
    );
    assert.deepEqual(whole.body && (await buffer(whole.body)), video);
    const part = await ask(kept, { range: 'bytes=-100' });
    assert.deepEqual([part.status, part.headers['content-range']], [206, 'bytes 299900-299999/300000']);
    assert.deepEqual(part.body && (await buffer(part.body)), video.subarray(-100));
    assert.equal((await ask(kept, {}, 'HEAD')).headers['content-length'], '300000');
  });

  test('gives it to anyone with the signed address', async () => {
    const kept = await keep();
    const url = home.mirror.publicUrl('https://gateway.example', { id: TASK }, 0, kept);
    const response = await fetch(url);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'video/mp4');
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), video);
  });

  test('forgets it with its task', async () => {
    const kept = await keep();
    await home.mirror.erase({ id: TASK, owner: 'o' }, [kept]);
    await assert.rejects(ask(kept), { code: 'video_content_expired' });
    await assert.rejects(ask(kept, {}, 'HEAD'), { code: 'video_content_expired' });
    assert.deepEqual(home.files(), []);
  });

  test('is cleared of what was left behind, like a folder', async () => {
    const [one, other] = [await keep('one'), await keep('other')];
    const day = 24 * HOUR;
    assert.equal(await home.mirror.removeExpired(Date.now() + 7 * day), 0);
    // The videos, and the notes about them.
    assert.equal(await home.mirror.removeExpired(Date.now() + 8 * day), 4);
    for (const gone of [one, other]) await assert.rejects(ask(gone), { code: 'video_content_expired' });
  });

  test('that refuses or is away is asked again later, without another download', async () => {
    const away = testMirror({
      folder: home.folder,
      store: { type: 's3', ...optionsFor(endpoint, { bucket: 'missing' }) },
    });
    await assert.rejects(away.keep(source), { code: 'upstream_content_unavailable' });
    assert.ok(home.files().includes(`${TASK}/0.part`));
    const nowhere: MirroredFile = { file: `s3:videos/${TASK}/0-abc.mp4`, sha256: 'abc', bytes: 1, mime: 'video/mp4' };
    const gone = testMirror({ store: { type: 's3', ...optionsFor('http://127.0.0.1:1') } });
    const request = { method: 'GET', headers: {}, name: 'x', signal: new AbortController().signal } as const;
    await assert.rejects(gone.mirror.openContent({ type: 'kept', kept: nowhere }, request), {
      code: 'upstream_content_unavailable',
    });
    assert.ok(
      await home.mirror.save(
        { id: TASK, owner: 'o' },
        0,
        { type: 'url', url: 'https://10.0.0.1/' },
        new AbortController().signal,
      ),
    );
    await away.close();
    await gone.close();
  });
});

describe('signatures equal those of the AWS SDK', () => {
  const name = `videos/${TASK}/0-0123456789abcdef.mp4`;
  const styles = [
    optionsFor('https://s3.example.com'),
    optionsFor('https://s3.example.com:9000', { prefix: "it's (a) *prefix*!/é/" }),
    optionsFor('https://s3.eu-central-1.amazonaws.com', { pathStyle: false, region: 'auto' }),
  ];

  function parsed(url: string) {
    const { protocol, hostname, port, pathname, searchParams } = new URL(url);
    const path = pathname;
    return { protocol, hostname, ...(port && { port: Number(port) }), path, query: Object.fromEntries(searchParams) };
  }

  for (const options of styles) {
    test(`of a presigned address at ${options.endpoint}`, async () => {
      const url = createS3Requests(options, () => moment).presign(name, HOUR);
      const { query, ...place } = parsed(url);
      assert.equal(query['X-Amz-Expires'], '7200');
      assert.equal(query['X-Amz-Date'], '20261121T050000Z');
      const request = { method: 'GET', headers: { host: new URL(url).host }, query: {}, ...place };
      const signingDate = new Date('2026-11-21T05:00:00Z');
      const signed = await judge(options).presign(request, { expiresIn: 7200, signingDate });
      assert.equal(query['X-Amz-Signature'], signed.query?.['X-Amz-Signature']);
    });

    for (const [title, call] of Object.entries({
      put: { method: 'PUT', name, sha256: 'ab'.repeat(32) },
      range: { method: 'GET', name },
      list: { method: 'GET', query: { 'list-type': '2', prefix: 'a b/', 'continuation-token': 'x+y/z==' } },
    } as const)) {
      test(`of a ${title} at ${options.endpoint}`, async () => {
        const { url, headers } = createS3Requests(options, () => moment).sign(call);
        const { authorization, ...sent } = headers;
        const request = { method: call.method, headers: { host: new URL(url).host, ...sent }, ...parsed(url) };
        const signed = await signerOf(options).sign(request, { signingDate: new Date(moment) });
        assert.equal(authorization, signed.headers.authorization);
      });
    }
  }

  test('a lifetime beyond what stores allow is cut', () => {
    const url = createS3Requests(optionsFor('https://s3.example.com'), () => moment).presign(name, 30 * 24 * HOUR);
    assert.equal(new URL(url).searchParams.get('X-Amz-Expires'), String(7 * 24 * 3600));
  });
});

interface Signed {
  headers: Record<string, string>;
  query?: Record<string, unknown>;
}

interface Signer {
  sign(request: object, options: { signingDate: Date }): Promise<Signed>;
}

function judge({ region }: S3Options): S3RequestPresigner {
  return new S3RequestPresigner({ ...new S3Client({ region, credentials: account }).config });
}

/** What the presigner signs with. */
function signerOf(options: S3Options): Signer {
  return (judge(options) as unknown as { signer: Signer }).signer;
}
