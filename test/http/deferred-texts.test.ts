/** Which texts of a request wait for a reader. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { longTextAt } from '../../src/core/json/long-text.ts';
import { readCall } from '../../src/http/inference.ts';
import type { RequestContext } from '../../src/http/request-context.ts';
import { protocolOf } from '../../src/protocols/index.ts';

const document = 'some words of a document '.repeat(40_000);

async function readMessages(messages: Json[]): Promise<Json[]> {
  const protocol = protocolOf('chat');
  const operation = protocol.operations.complete;
  const context: Partial<RequestContext> = {
    protocol,
    requestId: 'request',
    request: { headers: {} } as RequestContext['request'],
    observation: { startedAt: 0, attempt: () => ({}) } as unknown as RequestContext['observation'],
    body: Buffer.from(JSON.stringify({ model: 'a/m', messages })),
  };
  const { body } = await readCall(context as RequestContext, {
    operation,
    match: { operation: operation.name } as never,
  });
  assert.equal(context.body?.length, 0, 'the call alone has the bytes');
  return body.messages;
}

test('the bytes of a small request are with its call alone, too', async () => {
  assert.deepEqual(await readMessages([{ role: 'user', content: 'Hi' }]), [{ role: 'user', content: 'Hi' }]);
});

test('a document waits for its reader', async () => {
  const [message] = await readMessages([{ role: 'user', content: document }]);
  assert.ok(longTextAt(message, 'content'));
  assert.equal(message.content, document);
});

test('a document beside an image is decoded at once, because the estimate of its tokens reads it', async () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const [message] = await readMessages([
    { role: 'user', content: document },
    { role: 'user', content: [image] },
  ]);
  assert.ok(!longTextAt(message, 'content'));
  assert.equal(message.content, document);
});
