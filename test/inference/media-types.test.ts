/** Media types by first bytes and by names. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mimeOfName, sniffBase64, sniffMime } from '../../src/core/mime.ts';

const HEADS: Record<string, string> = {
  '\x89PNG\r\n\x1a\n': 'image/png',
  '\xff\xd8\xff\xe0': 'image/jpeg',
  GIF89a: 'image/gif',
  'RIFF....WEBPVP8 ': 'image/webp',
  'RIFF....WAVEfmt ': 'audio/wav',
  'BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0': 'image/bmp',
  '%PDF-1.7': 'application/pdf',
  'ID3\x04': 'audio/mpeg',
  '\xff\xfb\x90\x64': 'audio/mpeg',
  '\xff\xf1\x50\x80': 'audio/aac',
  'OggS\0': 'audio/ogg',
  'fLaC\0': 'audio/flac',
  '\0\0\0\x18ftypisom': 'video/mp4',
  '\0\0\0\x18ftypM4A ': 'audio/mp4',
  '\0\0\0\x18ftypheic': 'image/heic',
  '\x1aE\xdf\xa3\x01\0\0\x42\x82\x84webm': 'video/webm',
};

for (const [head, mime] of Object.entries(HEADS)) {
  test(`${JSON.stringify(head)} starts ${mime}`, () => {
    const bytes = Buffer.from(head, 'latin1');
    assert.equal(sniffMime(bytes), mime);
    assert.equal(sniffBase64(Buffer.concat([bytes, Buffer.alloc(100)]).toString('base64')), mime);
  });
}

test('text, empty data and look-alikes have no detected type', () => {
  for (const head of [
    '',
    'hello',
    '<html>',
    'BMW is a car maker!',
    '....WEBP',
    'RIFF....xxxx',
    '\xff\xff\xff',
    '\xff',
  ]) {
    assert.equal(sniffMime(Buffer.from(head, 'latin1')), undefined, head);
  }
});

test('the type of a name follows from its last extension, before query and fragment', () => {
  assert.equal(mimeOfName('https://example.com/a.b/photo.JPG?x=1.png#y.gif'), 'image/jpeg');
  assert.equal(mimeOfName('report.final.pdf'), 'application/pdf');
  for (const name of [
    'https://example.com/photo',
    'https://example.mp4',
    'https://example.com/a.png/',
    'photo.',
    'a.unknown',
    '',
  ]) {
    assert.equal(mimeOfName(name), undefined, name);
  }
});
