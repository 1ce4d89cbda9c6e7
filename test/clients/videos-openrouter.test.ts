/** OpenRouter's SDK and its provider for the AI SDK make videos. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createOpenRouter } from '@openrouter/ai-sdk-provider';
import { OpenRouter } from '@openrouter/sdk';
import { experimental_generateVideo as generateVideo } from 'ai';
import { KEY, startTestGateway, type TestGateway } from '../gateway/harness.ts';

let gateway: TestGateway;

before(async () => {
  gateway = await startTestGateway();
});
after(() => gateway.close());

describe('@openrouter/sdk', { concurrency: true }, () => {
  const connect = () => new OpenRouter({ apiKey: KEY, serverURL: `${gateway.url}/v1` });

  function generate(prompt: string) {
    const videoGenerationRequest = { model: 'sandbox/video', prompt, duration: 1, resolution: '480p' as const };
    return connect().videoGeneration.generate({ videoGenerationRequest });
  }

  async function untilEnd(jobId: string) {
    for (;;) {
      const job = await connect().videoGeneration.getGeneration({ jobId });
      if (String(job.status) !== 'queued' && job.status !== 'in_progress') return job;
      await pause(600);
    }
  }

  test('creates, polls and downloads', async () => {
    const created = await generate('a cat');
    assert.equal(created.pollingUrl, `${gateway.url}/v1/videos/${created.id}`);
    const job = await untilEnd(created.id);
    assert.equal(job.status, 'completed');
    assert.equal(job.usage?.cost, 0);
    assert.equal(job.unsignedUrls?.length, 1);
    const stream = await connect().videoGeneration.getVideoContent({ jobId: created.id, index: 0 });
    const bytes = Buffer.from(await new Response(stream).arrayBuffer());
    assert.equal(bytes.toString('latin1', 4, 8), 'ftyp');
  });

  test('reads why a task failed', async () => {
    const job = await untilEnd((await generate('fail')).id);
    assert.equal(job.status, 'failed');
    assert.match(job.error ?? '', /fails/);
  });

  test('reads the list of models', async () => {
    const { data } = await connect().videoGeneration.listVideosModels();
    const model = data.find(({ id }) => id === 'sandbox/video');
    assert.deepEqual(model?.supportedResolutions, ['480p', '720p', '1080p']);
    assert.equal(model?.seed, true);
  });

  test('is told what a model cannot make', async () => {
    const videoGenerationRequest = { model: 'sandbox/video', prompt: 'x', duration: 11 };
    await assert.rejects(connect().videoGeneration.generate({ videoGenerationRequest }), { statusCode: 400 });
  });
});

describe('@openrouter/ai-sdk-provider with ai', { concurrency: true }, () => {
  /** Every answer that the provider was given. */
  function connect(seen: string[]) {
    return createOpenRouter({
      apiKey: KEY,
      baseURL: `${gateway.url}/v1`,
      async fetch(input, init) {
        const response = await fetch(input, init);
        seen.push(`${init?.method ?? 'GET'} ${response.status}`);
        return response;
      },
    });
  }

  /** Its own downloader refuses private addresses, as it should. */
  const download = async ({ url }: { url: URL }) => {
    const response = await fetch(url, { headers: { authorization: `Bearer ${KEY}` } });
    return { data: new Uint8Array(await response.arrayBuffer()), mediaType: 'video/mp4' };
  };

  test('makes a video; looking every two seconds it sees neither 429 nor 5xx', async () => {
    const seen: string[] = [];
    const { video, providerMetadata } = await generateVideo({
      model: connect(seen).videoModel('sandbox/video'),
      prompt: 'a cat',
      duration: 1,
      resolution: '854x480',
      seed: 3,
      download,
    });
    assert.equal(Buffer.from(video.uint8Array).toString('latin1', 4, 8), 'ftyp');
    assert.equal(providerMetadata.openrouter?.cost, 0);
    assert.equal(seen[0], 'POST 202');
    assert.deepEqual(new Set(seen.slice(1)), new Set(['GET 200']));
  });

  test('is told why a task failed, and makes no second one', async () => {
    const seen: string[] = [];
    const made = generateVideo({ model: connect(seen).videoModel('sandbox/video'), prompt: 'fail', duration: 1 });
    await assert.rejects(made, /fails/);
    assert.equal(seen.filter((answer) => answer.startsWith('POST')).length, 1);
  });
});
