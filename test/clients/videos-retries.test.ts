/** Clients that send a creation again after trouble on the way get the task that there is, not a second one. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { OpenRouter } from '@openrouter/sdk';
import OpenAI from 'openai';
import { KEY, startTestGateway, type TestGateway } from '../gateway/harness.ts';
import { videoClient } from '../gateway/video-client.ts';
import { type Fault, type FaultyProxy, startFaultyProxy } from './faulty-proxy.ts';

const STORMS: Fault[][] = [
  ['lose-answer', 'lose-answer'],
  ['bad-gateway', 'bad-gateway'],
  ['refuse', 'lose-answer', 'bad-gateway'],
];

/** One creation through a proxy, with `headers`. */
type Create = (proxy: FaultyProxy, prompt: string, headers: Record<string, string>) => Promise<{ id: string }>;

const openai: Create = ({ url }, prompt, headers) => {
  const client = new OpenAI({ apiKey: KEY, baseURL: `${url}/v1`, maxRetries: 4 });
  const body = { model: 'sandbox/video', prompt, seconds: '1' };
  return client.videos.create(body as unknown as OpenAI.VideoCreateParams, { headers });
};

const openrouter: Create = ({ url }, prompt, headers) => {
  const client = new OpenRouter({ apiKey: KEY, serverURL: `${url}/v1` });
  const videoGenerationRequest = { model: 'sandbox/video', prompt, duration: 1 };
  return client.videoGeneration.generate({ videoGenerationRequest }, { headers });
};

let plain: TestGateway;
let deduping: TestGateway;

before(async () => {
  [plain, deduping] = await Promise.all([startTestGateway(), startTestGateway('videos: { dedupe_window: 1m }')]);
});
after(() => Promise.all([plain.close(), deduping.close()]));

interface Storm {
  gateway: TestGateway;
  create: Create;
  faults: Fault[];
  headers?: Record<string, string>;
}

async function weather({ gateway, create, faults, headers = {} }: Storm, prompt: string): Promise<void> {
  const proxy = await startFaultyProxy(gateway.url, faults);
  try {
    const { id } = await create(proxy, prompt, headers);
    assert.deepEqual(proxy.met, [...faults, 'pass']);
    const { body } = await videoClient(gateway).send('GET', '/v1/videos?limit=100');
    const made = body.data.filter((task: { prompt: string }) => task.prompt === prompt);
    assert.deepEqual(
      made.map((task: { id: string }) => task.id),
      [id],
    );
  } finally {
    await proxy.close();
  }
}

describe('one task', { concurrency: 4 }, () => {
  for (const faults of STORMS) {
    const storm = faults.join(', ');
    test(`openai, ${storm}, with a key`, () =>
      weather(
        { gateway: plain, create: openai, faults, headers: { 'Idempotency-Key': `a ${storm}` } },
        `hang 1 ${storm}`,
      ));
    test(`openai, ${storm}, without a key`, () =>
      weather({ gateway: plain, create: openai, faults }, `hang 2 ${storm}`));
    test(`@openrouter/sdk, ${storm}, with a key`, () =>
      weather(
        { gateway: plain, create: openrouter, faults, headers: { 'Idempotency-Key': `b ${storm}` } },
        `hang 3 ${storm}`,
      ));
    test(`@openrouter/sdk, ${storm}, without a key, where equal requests are one`, () =>
      weather({ gateway: deduping, create: openrouter, faults }, `hang 4 ${storm}`));
  }
});
