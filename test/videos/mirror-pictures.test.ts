/** Limits of mirrored pictures: a picture that exceeds them is not stored and leaves no file. */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createFileUrls } from '../../src/videos/mirror/file-urls.ts';
import { createMirroredPictures } from '../../src/videos/mirror/pictures.ts';

const BASE = 'http://gateway.example';
const MEBIBYTE = 1024 ** 2;
const DAY_MS = 86_400_000;

const HEADS = {
  png: Buffer.from('89504e470d0a1a0a', 'hex'),
  jpg: Buffer.from('ffd8ffe0', 'hex'),
  gif: Buffer.from('GIF89a'),
  webp: Buffer.from('RIFF\0\0\0\0WEBPVP8 '),
};

function picture(head: Buffer, bytes = 64): string {
  const content = Buffer.alloc(bytes, 7);
  head.copy(content);
  return content.toString('base64');
}

function open(context: TestContext, requireSpace = async () => {}) {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-pictures-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const warnings: object[] = [];
  const pictures = createMirroredPictures({
    folder,
    urls: createFileUrls({ secrets: [Buffer.alloc(32, 1)] }),
    reserve: { requireSpace },
    keepMediaMs: DAY_MS,
    log: { warn: (details) => void warnings.push(details) },
    now: Date.now,
  });
  const keep = (data: string, index = 0) => pictures.keepPicture(BASE, { requestId: 'r', index, data });
  return { folder: join(folder, 'pictures'), pictures, warnings, keep };
}

function nameIn(url: string | undefined): string {
  return new URL(url ?? '').pathname.split('/').at(-1) ?? '';
}

test('the media type of a picture is detected from its bytes', async (context) => {
  const { keep, pictures } = open(context);
  for (const [type, head] of Object.entries(HEADS)) {
    const name = nameIn(keep(picture(head)));
    assert.ok(name.endsWith(`.${type}`), name);
    const found = await pictures.findPicture(name);
    assert.deepEqual([found?.bytes, found?.mime], [64, `image/${type === 'jpg' ? 'jpeg' : type}`]);
  }
});

test('other files, oversized pictures and pictures beyond the limit are not stored', async (context) => {
  const { keep, pictures, folder } = open(context);
  for (const text of ['', 'A', '<svg xmlns="http://www.w3.org/2000/svg"/>', '<html>']) {
    assert.equal(keep(Buffer.from(text).toString('base64')), undefined, text);
  }
  assert.equal(keep(picture(HEADS.png, 20 * MEBIBYTE + 1)), undefined);
  assert.equal(keep(picture(HEADS.png), 8), undefined);
  assert.ok(keep(picture(HEADS.png, 20 * MEBIBYTE), 7));
  await pictures.settlePictures();
  assert.equal(readdirSync(folder).length, 1);
});

test('pictures waiting to be written share one limit', async (context) => {
  const { keep, pictures } = open(context);
  const large = picture(HEADS.png, 20 * MEBIBYTE);
  const kept = Array.from({ length: 8 }, (_, index) => keep(large, index) !== undefined);
  assert.deepEqual(kept, [true, true, true, true, true, true, false, false]);
  await pictures.settlePictures();
  assert.ok(keep(large));
  await pictures.settlePictures();
});

test('a picture that does not fit on the disk is logged and not found', async (context) => {
  const { keep, pictures, warnings } = open(context, async () => {
    throw new Error('full');
  });
  const name = nameIn(keep(picture(HEADS.png)));
  assert.equal(await pictures.findPicture(name), undefined);
  assert.equal(warnings.length, 1);
});

test('pictures are removed at the end of their retention, not before', async (context) => {
  const { keep, pictures, folder } = open(context);
  keep(picture(HEADS.png));
  await pictures.settlePictures();
  assert.equal(await pictures.removeExpiredPictures(Date.now() + DAY_MS - 60_000), 0);
  assert.equal(await pictures.removeExpiredPictures(Date.now() + DAY_MS + 60_000), 1);
  assert.deepEqual(readdirSync(folder), []);
});
