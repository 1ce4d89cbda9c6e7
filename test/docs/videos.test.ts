/** The requests of docs/videos.md, run against a gateway, and the task that it shows. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { KEY, startTestGateway, type TestGateway } from '../gateway/harness.ts';
import { type VideoClient, videoClient } from '../gateway/video-client.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { parseCurl } from './curl.ts';
import { codeIn } from './markdown.ts';

const DOCUMENT = 'docs/videos.md';
const CA = join(import.meta.dirname, '../net/fixtures/test-only-ca.pem');
const PNG = new Blob([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')]);

let receiver: Receiver;
let gateway: TestGateway;
let client: VideoClient;
/** The task of the first example, completed, and told to a callback. */
let done: string;

const lines = codeIn(DOCUMENT, 'sh')
  .flatMap((code) => code.split('\n'))
  .filter((line) => line.startsWith('curl'));

before(async () => {
  receiver = await startReceiver();
  gateway = await startTestGateway(
    `callbacks: { secret: a-secret-of-the-docs, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }`,
  );
  client = videoClient(gateway);
  const request = JSON.parse(String(requestOf(lines[0] ?? '', '').body));
  ({ id: done } = await client.create({ ...request, callback_url: `https://127.0.0.1:${receiver.port}/hook` }));
  await client.until(done, 'completed');
  // A replay is refused until the first delivery has ended.
  await untilDelivered(done);
});
after(async () => {
  await gateway.close();
  await receiver.close();
});

async function untilDelivered(id: string): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const { body } = await client.send('GET', `/v1/videos/${id}/deliveries`);
    if (body.data[0]?.state === 'delivered') return;
    await setTimeout(50);
  }
  assert.fail('The webhook was not delivered.');
}

function requestOf(line: string, id: string) {
  return parseCurl(line.replace('$VIDEO', id).replace('http://127.0.0.1:8080', gateway.url), KEY, PNG);
}

/** The task that an example is tried with. */
async function subjectOf(line: string): Promise<string> {
  if (line.includes('/cancel')) return (await client.create({ prompt: 'hang' })).id;
  if (!line.includes('-X DELETE')) return done;
  const { id } = await client.create({ prompt: 'hang' });
  await client.send('POST', `/v1/videos/${id}/cancel`);
  await client.until(id, 'cancelled');
  return id;
}

describe('requests', { concurrency: true }, () => {
  for (const line of lines) {
    test(line.slice(0, 100), async () => {
      const { url, output, ...request } = requestOf(line, await subjectOf(line));
      assert.equal(output, url.includes('/content') ? 'boat.mp4' : undefined);
      const response = await fetch(url, request);
      await response.arrayBuffer();
      assert.ok(response.ok, `${response.status}`);
      const isAccepted = request.method === 'POST' && !url.endsWith('/cancel');
      assert.equal(response.status, isAccepted ? 202 : 200);
    });
  }
});

test('the task that is shown is the one that is made', async () => {
  const { body } = await client.send('GET', `/v1/videos/${done}`);
  const [shown = ''] = codeIn(DOCUMENT, 'json');
  const changing = ['id', 'created_at', 'updated_at', 'completed_at', 'expires_at', 'polling_url'];
  const steady = ({ unsigned_urls: unsigned, mirror_urls: mirrored, ...task }: Record<string, unknown[]>) =>
    Object.entries({ ...task, unsigned: unsigned?.length, mirrored: mirrored?.length }).filter(
      ([name]) => !changing.includes(name),
    );
  assert.deepEqual(Object.keys(JSON.parse(shown)), Object.keys(body));
  assert.deepEqual(steady(JSON.parse(shown)), steady(body));
});
