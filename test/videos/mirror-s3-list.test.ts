/** Listings of an object store: complete, and bounded for a faulty store. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalOf, type S3Requests } from '../../src/net/s3-requests.ts';
import type { TrustedClient } from '../../src/net/trusted-client.ts';
import type { StoredFile } from '../../src/videos/mirror/media-store.ts';
import { createS3Store } from '../../src/videos/mirror/s3-store.ts';
import { createManualClock } from '../jobs/manual-clock.ts';

const TASK = 'vid_0123456789abcdef0123456789abcdef';
const MEBIBYTE = 1024 * 1024;

interface Listing {
  files: StoredFile[];
  calls: number;
  closed: number;
  error: unknown;
}

/** Lists a store whose page for a token is `page`. */
async function list(page: (token: string | null) => Iterable<string>, status = 200): Promise<Listing> {
  const listing: Listing = { files: [], calls: 0, closed: 0, error: undefined };
  const client: TrustedClient = {
    async request(url) {
      listing.calls++;
      const chunks = page(new URL(url).searchParams.get('continuation-token'));
      async function* body(): AsyncGenerator<Buffer> {
        for (const chunk of chunks) yield Buffer.from(chunk);
      }
      return { status, headers: {}, body: body(), close: () => void listing.closed++ };
    },
    close: async () => {},
  };
  const requests: S3Requests = {
    sign: ({ query = {} }) => ({ url: `http://s3.local/bucket?${new URLSearchParams(query)}`, headers: {} }),
    presign: () => '',
  };
  const store = createS3Store({ requests, client, prefix: 'p/', idleMs: 1000, totalMs: 1000 });
  try {
    for await (const file of store.list()) listing.files.push(file);
  } catch (error) {
    listing.error = error;
  }
  return listing;
}

const entry = (index: number) =>
  `<Contents><Key>p/videos/${TASK}/${index}-abc.mp4</Key><LastModified>2026-11-18T12:00:00.000Z</LastModified></Contents>`;
const next = (token: string) => `<NextContinuationToken>${token}</NextContinuationToken>`;

test('all pages are read', async () => {
  const { files, calls, error } = await list((token) => [
    entry(token === null ? 0 : Number(token)),
    token === '2' ? '' : next(token === null ? '1' : '2'),
  ]);
  assert.equal(error, undefined);
  assert.equal(calls, 3);
  assert.equal(files.length, 3);
});

test('objects without a readable time are left out, for the removal of old ones would take them', async () => {
  const { files, error } = await list(() => [
    entry(0).replace(/<LastModified>.*<\/LastModified>/, ''),
    entry(1).replace(/2026-11-18T[^<]*/, 'yesterday'),
    entry(2),
  ]);
  assert.equal(error, undefined);
  assert.deepEqual(files, [{ name: `videos/${TASK}/2-abc.mp4`, modifiedAt: Date.UTC(2026, 10, 18, 12) }]);
});

test('a refusal is named by its status and its code, and closed', async () => {
  const { error, closed } = await list(() => ['<Error><Code>NoSuchBucket</Code></Error>'], 404);
  assert.equal((error as Error).message, 'The object store answered with status 404 (NoSuchBucket).');
  assert.equal(closed, 1);
});

test('the code of a refusal may come in parts, and late: then its status says enough', async () => {
  const parts = ['<?xml version="1.0"?>\n', '<Error><Code>NoSu', 'chBucket</Code></Error>'];
  const { error } = await list(() => parts, 404);
  assert.equal((error as Error).message, 'The object store answered with status 404 (NoSuchBucket).');
  const clock = createManualClock(0);
  let closed = 0;
  async function* body(): AsyncGenerator<Buffer> {
    yield Buffer.from(parts[0] ?? '');
    await new Promise(() => {});
  }
  const refusal = refusalOf({ status: 403, headers: {}, body: body(), close: () => void closed++ }, clock);
  clock.advance(1999);
  assert.equal(closed, 0);
  clock.advance(1);
  assert.equal(await refusal, 'status 403');
  assert.equal(closed, 1);
});

test('a file that cannot be read is refused with the code', async () => {
  let closed = 0;
  async function* body(): AsyncGenerator<Buffer> {
    yield Buffer.from('<Error><Code>AccessDenied</Code></Error>');
  }
  const client: TrustedClient = {
    request: async () => ({ status: 403, headers: {}, body: body(), close: () => void closed++ }),
    close: async () => {},
  };
  const requests: S3Requests = { sign: () => ({ url: 'http://s3.local/', headers: {} }), presign: () => '' };
  const store = createS3Store({ requests, client, prefix: '', idleMs: 1000, totalMs: 1000 });
  const message = 'The object store answered with status 403 (AccessDenied).';
  await assert.rejects(async () => store.open('videos/a/b', undefined, 1), {
    code: 'upstream_content_unavailable',
    message,
  });
  assert.equal(closed, 1);
});

test('an endless page is refused', async () => {
  let sent = 0;
  const { error, closed } = await list(function* () {
    for (; sent < 100; sent++) yield 'x'.repeat(MEBIBYTE);
  });
  assert.match(String(error), /listing has no end/);
  assert.ok(sent < 10, String(sent));
  assert.equal(closed, 1);
});

test('a repeated continuation token ends the listing with an error', async () => {
  const { error, calls } = await list(() => [entry(0), next('again')]);
  assert.match(String(error), /listing has no end/);
  assert.equal(calls, 2);
});

test('an endless listing ends with an error', async () => {
  const { error, calls } = await list((token) => [next(String(Number(token ?? 0) + 1))]);
  assert.match(String(error), /listing has no end/);
  assert.equal(calls, 10_000);
});
