/** Models that make videos: bundled, configured and listed by a server; in every catalog, and in no conversation. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import {
  answerJson,
  HEADERS,
  type ProtocolId,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

const CATALOGS: Record<ProtocolId, string> = {
  chat: '/v1/models',
  messages: '/anthropic/v1/models?limit=1000',
  generate: '/gemini/v1beta/models?pageSize=1000',
};
const IDS = Object.keys(CATALOGS) as ProtocolId[];
const MODELS = [
  'google/veo-3.1-generate-preview',
  'ark/seedance-1-5-pro-251215',
  'studio/wan-2.2',
  'router/maker/new-model',
  'fal/fal-ai/veo3.1/fast',
];

let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream(({ path }, response) => {
    const lists: Record<string, Json> = {
      '/api/v1/videos/models': { data: [{ id: 'maker/new-model', name: 'New', supported_durations: [5] }] },
      '/ark/models': { data: [{ id: 'seed-chat', object: 'model' }] },
    };
    answerJson(response, lists[path] ?? { error: {} }, lists[path] ? 200 : 404);
  });
  gateway = await startTestGateway(`
providers:
  google: { api_key: k }
  fal: { api_key: k }
  ark: { type: byteplus, api_key: k, base_url: "${upstream.url}/ark" }
  router: { type: openrouter, api_key: k, base_url: "${upstream.url}/api/v1" }
  inner: { type: polygate, base_url: "${upstream.url}/old/v1", models: discover }
  studio:
    type: openai-compatible
    base_url: "${upstream.url}/studio"
    models: [{ id: wan-2.2, video: { durations: [4] } }]
`);
  while (!(await idsOf('chat')).includes('router/maker/new-model'))
    await new Promise((resolve) => setImmediate(resolve));
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

async function list(protocol: ProtocolId): Promise<Json[]> {
  const response = await fetch(gateway.url + CATALOGS[protocol], { headers: HEADERS[protocol] });
  const body: Json = await response.json();
  return body.data ?? body.models;
}

async function idsOf(protocol: ProtocolId): Promise<string[]> {
  return (await list(protocol)).map(({ id, name }) => id ?? name.replace(/^models\//, ''));
}

describe('the catalogs', () => {
  for (const protocol of IDS) {
    test(`${protocol}: they say that videos are made`, async () => {
      const models = await list(protocol);
      for (const id of MODELS) {
        const model = models.find(({ id: own, name }) => own === id || name === `models/${id}`);
        assert.ok(model, id);
        assert.deepEqual(model.architecture.output_modalities, ['video'], id);
        assert.deepEqual(model.supported_parameters ?? model.supportedParameters, [], id);
        if (protocol === 'generate') assert.deepEqual(model.supportedGenerationMethods, [], id);
      }
    });
  }

  test('a server is asked for both of its lists, and may lack that of videos', async () => {
    assert.ok((await idsOf('chat')).includes('ark/seed-chat'));
    const paths = upstream.calls.map(({ path }) => path);
    assert.ok(paths.includes('/api/v1/videos/models') && !paths.includes('/api/v1/models'), String(paths));
  });
});

describe('conversations', () => {
  const turns = [{ role: 'user', content: 'Hi' }];
  const calls = (model: string): [ProtocolId, path: string, body: Json][] => [
    ['chat', '/v1/chat/completions', { model, messages: turns }],
    ['messages', '/anthropic/v1/messages', { model, max_tokens: 10, messages: turns }],
    ['messages', '/anthropic/v1/messages/count_tokens', { model, messages: turns }],
    [
      'generate',
      `/gemini/v1beta/models/${model}:generateContent`,
      { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    ],
    [
      'generate',
      `/gemini/v1beta/models/${model}:countTokens`,
      { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    ],
  ];
  for (const model of MODELS) {
    for (const [protocol, path, body] of calls(model)) {
      test(`POST ${path} with ${model}`, async () => {
        const before = upstream.calls.length;
        const response = await fetch(gateway.url + path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...HEADERS[protocol] },
          body: JSON.stringify(body),
        });
        const { error }: Json = await response.json();
        assert.equal(response.status, 400);
        assert.equal(error.message, `The model "${model}" makes videos: ask for them at POST /v1/videos.`);
        if (protocol === 'chat') assert.equal(error.param, 'model');
        assert.equal(upstream.calls.length, before);
      });
    }
  }
});
