/** Module that receivers import to verify webhooks. */

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { newDelivery } from '../../src/webhooks/envelope.ts';
import { verifyWebhook, WebhookError } from '../../src/webhooks/verify.ts';

const body = Buffer.from(
  '{"event":"video.generation.failed","id":"a","created_at":1,"data":{"id":"a","status":"failed","x":"ü"}}',
);
const sign = (secret: string, bytes = body) => createHmac('sha256', secret).update(bytes).digest('base64url');

test('verifies a signed body with headers in any form', () => {
  const signature = sign('one');
  for (const headers of [
    { 'x-service-signature': signature },
    { 'X-Service-Signature': signature },
    new Headers({ 'X-Service-Signature': signature }),
  ]) {
    assert.equal(verifyWebhook(body, headers, 'one').data.status, 'failed');
    assert.equal(verifyWebhook(body.toString(), headers, ['two', 'one']).event, 'video.generation.failed');
  }
});

test('throws WebhookError for everything else', () => {
  const signature = sign('one');
  const refuse = (...wrong: Parameters<typeof verifyWebhook>) =>
    assert.throws(() => verifyWebhook(...wrong), WebhookError);
  refuse(body, {}, 'one');
  refuse(body, { 'x-service-signature': '' }, 'one');
  refuse(body, { 'x-service-signature': [signature, signature] }, 'one');
  refuse(body, { 'x-service-signature': `${signature}=` }, 'one');
  refuse(body, { 'x-service-signature': signature.slice(0, -1) }, 'one');
  refuse(body, { 'x-service-signature': signature }, 'two');
  refuse(body, { 'x-service-signature': signature }, []);
  refuse(body, { 'x-service-signature': sign('', body) }, '');
  refuse(body.subarray(1), { 'x-service-signature': signature }, 'one');
  refuse('no JSON', { 'x-service-signature': sign('one', Buffer.from('no JSON')) }, 'one');
});

test('a body above the limit is sent without prompt and metadata', () => {
  const settled = {
    taskId: 'a',
    status: 'completed',
    url: 'https://example.org/',
    owner: 'o',
    createdAt: 1_999,
  } as const;
  const encoded = (task: object) => JSON.parse(Buffer.from(newDelivery({ ...settled, task }).body).toString());
  assert.deepEqual(encoded({ id: 'a', prompt: 'p' }), {
    ...{ event: 'video.generation.completed', id: 'a', created_at: 1, data: { id: 'a', prompt: 'p' } },
  });
  const long = 'x'.repeat(200_000);
  assert.deepEqual(Object.keys(encoded({ id: 'a', prompt: long, metadata: { a: '1' } }).data), [
    'id',
    'prompt',
    'metadata',
  ]);
  assert.deepEqual(Object.keys(encoded({ id: 'a', prompt: long + long, metadata: { a: '1' } }).data), [
    'id',
    'metadata',
  ]);
  assert.deepEqual(Object.keys(encoded({ id: 'a', prompt: long + long, metadata: { a: long + long } }).data), ['id']);
});
