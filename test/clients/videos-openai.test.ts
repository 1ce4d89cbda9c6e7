/** The official SDK of OpenAI makes videos. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import OpenAI, { toFile } from 'openai';
import { KEY, startTestGateway, type TestGateway } from '../gateway/harness.ts';

const PNG = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1');

let gateway: TestGateway;
let client: OpenAI;

before(async () => {
  gateway = await startTestGateway();
  client = new OpenAI({ apiKey: KEY, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
});
after(() => gateway.close());

type Create = OpenAI.VideoCreateParams;

/** Its types know only the models and sizes of OpenAI. */
function create(more: object = {}): Promise<OpenAI.Video> {
  const body = { model: 'sandbox/video', prompt: 'a cat', seconds: '1', size: '854x480', ...more };
  return client.videos.create(body as unknown as Create);
}

async function untilEnd({ id }: OpenAI.Video): Promise<OpenAI.Video> {
  for (;;) {
    const video = await client.videos.retrieve(id);
    if (video.status !== 'queued' && video.status !== 'in_progress') return video;
    await pause(600);
  }
}

describe('openai', { concurrency: true }, () => {
  test('creates, polls, downloads, lists and deletes', async () => {
    const video = await create();
    assert.equal(video.object, 'video');
    assert.equal(video.status, 'queued');
    assert.equal(video.seconds, '1');
    assert.equal(video.size, '854x480');
    const done = await untilEnd(video);
    assert.equal(done.status, 'completed');
    assert.equal(done.progress, 100);
    assert.ok((done.completed_at ?? 0) >= done.created_at);
    const content = await client.videos.downloadContent(video.id);
    const bytes = Buffer.from(await content.arrayBuffer());
    assert.equal(bytes.toString('latin1', 4, 8), 'ftyp');
    await assert.rejects(client.videos.downloadContent(video.id, { variant: 'thumbnail' }), { status: 400 });
    const listed: string[] = [];
    for await (const { id } of client.videos.list({ limit: 1 })) listed.push(id);
    assert.ok(listed.includes(video.id));
    assert.deepEqual(await client.videos.delete(video.id), { id: video.id, object: 'video.deleted', deleted: true });
    await assert.rejects(client.videos.retrieve(video.id), { status: 404 });
  });

  test('sends a first frame as a file and as an address', async () => {
    const file = await create({ input_reference: await toFile(PNG, 'first.png', { type: 'image/png' }) });
    assert.equal(file.status, 'queued');
    const address = await create({ input_reference: { image_url: 'https://example.com/first.png' } });
    assert.equal(address.status, 'queued');
    await assert.rejects(create({ input_reference: { file_id: 'file-1' } }), {
      status: 400,
      param: 'input_reference[file_id]',
    });
  });

  test('reads what went wrong', async () => {
    const failed = await untilEnd(await create({ prompt: 'fail' }));
    assert.equal(failed.status, 'failed');
    assert.match(String(failed.error), /fails/);
    await assert.rejects(create({ seconds: '11' }), {
      status: 400,
      code: 'unsupported_parameter_value',
      param: 'seconds',
    });
    await assert.rejects(client.videos.retrieve('video_123'), { status: 404, code: 'video_not_found' });
  });

  test('does not try again what cannot be', async () => {
    const video = await create({ prompt: 'hang' });
    let attempts = 0;
    const patient = new OpenAI({
      apiKey: KEY,
      baseURL: `${gateway.url}/v1`,
      maxRetries: 5,
      fetch(...request) {
        attempts++;
        return fetch(...request);
      },
    });
    await assert.rejects(patient.videos.delete(video.id), { status: 409 });
    assert.equal(attempts, 1);
  });
});
