/** Signed URLs of mirrored files: verification and lifetime. */

import assert from 'node:assert/strict';
import { createHmac, hkdfSync } from 'node:crypto';
import { test } from 'node:test';
import { createFileUrls, type FileUrlQuery } from '../../src/videos/mirror/file-urls.ts';

const HOUR = 3_600_000;
const start = Date.UTC(2026, 10, 21, 5, 17);
const [first, second] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const id = '11111111-1111-4111-8111-111111111111';
const other = '22222222-2222-4222-8222-222222222222';

function at(now: number, secrets: [Buffer, ...Buffer[]] = [first], lifetimeMs?: number) {
  return createFileUrls({ secrets, now: () => now, ...(lifetimeMs !== undefined && { lifetimeMs }) });
}

function queryOf(url: string): FileUrlQuery & { exp: string; sig: string } {
  const { exp = '', kid = '', sig = '' } = Object.fromEntries(new URL(url).searchParams);
  return { exp, kid, sig };
}

test('a URL contains the file and its expiry, and has the documented signature', () => {
  const url = new URL(at(start).signFileUrl('https://gateway.example', id, 3));
  assert.equal(url.origin + url.pathname, `https://gateway.example/v1/videos/${id}/files/3.mp4`);
  const { exp, sig } = queryOf(url.href);
  assert.equal(Number(exp), Date.UTC(2026, 10, 22, 6) / 1000);
  const key = Buffer.from(hkdfSync('sha256', first, '', 'polygate video file urls', 32));
  assert.equal(sig, createHmac('sha256', key).update(`v1\n${id}\n3\n${exp}`).digest('base64url'));
});

test('the URL stays the same for an hour, so that caches work', () => {
  const one = at(start).signFileUrl('', id, 0);
  assert.equal(at(start + 40 * 60_000).signFileUrl('', id, 0), one);
  assert.notEqual(at(start + HOUR).signFileUrl('', id, 0), one);
});

test('the URL is valid for its lifetime plus at most an hour, and never much longer than 7 days', () => {
  for (const [lifetime, hours] of [
    [undefined, 24],
    [HOUR, 1],
    [30 * 24 * HOUR, 7 * 24],
  ] as const) {
    const query = queryOf(at(start, [first], lifetime).signFileUrl('https://gateway.example', id, 0));
    at(start + hours * HOUR).checkFileUrl(id, 0, query);
    assert.throws(() => at(start + (hours + 1) * HOUR).checkFileUrl(id, 0, query), {
      code: 'url_expired',
      status: 403,
    });
  }
});

test('a modified URL does not verify', () => {
  const urls = at(start);
  const query = queryOf(urls.signFileUrl('https://gateway.example', id, 0));
  urls.checkFileUrl(id, 0, query);
  const touched: [string, number, FileUrlQuery][] = [
    [other, 0, query],
    [id, 1, query],
    [id, 0, { ...query, exp: String(Number(query.exp) + 3600) }],
    [id, 0, { ...query, exp: `0${query.exp}` }],
    [id, 0, { ...query, exp: 'NaN' }],
    [id, 0, { ...query, kid: 'other' }],
    [id, 0, { ...query, sig: query.sig.slice(0, -1) }],
    [id, 0, { ...query, sig: `${query.sig}A` }],
    [id, 0, { ...query, sig: query.sig.replace(/^./, (char) => (char === 'A' ? 'B' : 'A')) }],
    [id, 0, {}],
  ];
  for (const [task, index, asked] of touched) {
    assert.throws(() => urls.checkFileUrl(task, index, asked), { code: 'invalid_signature', status: 403 });
  }
});

test('a rotated key verifies as long as it is listed', () => {
  const query = queryOf(at(start).signFileUrl('https://gateway.example', id, 0));
  at(start, [second, first]).checkFileUrl(id, 0, query);
  assert.throws(() => at(start, [second]).checkFileUrl(id, 0, query), { code: 'invalid_signature' });
  const fresh = queryOf(at(start, [second, first]).signFileUrl('https://gateway.example', id, 0));
  assert.notEqual(fresh.kid, query.kid);
  at(start, [second]).checkFileUrl(id, 0, fresh);
});
