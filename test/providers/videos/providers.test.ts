/** URLs and headers of requests to providers that make videos. */

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, test } from 'node:test';
import { keyCredential } from '../../../src/core/credential.ts';
import type { Provider } from '../../../src/core/provider.ts';
import { providerTypes } from '../../../src/providers/index.ts';
import { signedToken } from '../../../src/providers/kling.ts';
import { baseUrlOf, credentialOf, headersOf, videoUrlOf } from '../reach.ts';
import { ask, context } from './calls.ts';

function create(type: string, baseUrl?: string): Provider {
  const provider = providerTypes.get(type)?.create({ id: type, baseUrl });
  assert.ok(provider);
  return provider;
}

function submissionUrl(provider: Provider, model = 'owner/name'): string {
  return videoUrlOf(provider, provider.video?.submit(ask({ model }), context).path ?? '');
}

describe('submissions go to', () => {
  const urls: [type: string, url: string, baseUrl?: string][] = [
    ['runway', 'https://api.dev.runwayml.com/v1/text_to_video'],
    ['runway', 'https://proxy.example/runway/v1/text_to_video', 'https://proxy.example/runway/v1/'],
    ['replicate', 'https://api.replicate.com/v1/models/owner/name/predictions'],
    ['kling', 'https://api-singapore.klingai.com/v1/videos/text2video'],
    ['kling', 'https://api.klingai.com/v1/videos/text2video', 'https://api.klingai.com/v1'],
    ['luma', 'https://api.lumalabs.ai/dream-machine/v1/generations/video'],
    ['minimax', 'https://api.minimax.io/v2/video_generation'],
    ['minimax', 'https://api.minimaxi.com/v2/video_generation', 'https://api.minimaxi.com/v1'],
    ['minimax', 'http://localhost:1/v2/video_generation', 'http://localhost:1'],
    ['dashscope', 'https://dashscope-intl.aliyuncs.com/api/v1/services/aigc/video-generation/video-synthesis'],
    [
      'dashscope',
      'https://dashscope.aliyuncs.com/api/v1/services/aigc/video-generation/video-synthesis',
      'https://dashscope.aliyuncs.com/compatible-mode/v1/',
    ],
  ];
  for (const [type, url, baseUrl] of urls)
    test(`${type}: ${url}`, () => assert.equal(submissionUrl(create(type, baseUrl)), url));

  test('chat completions of the same provider stay where they are', () => {
    assert.equal(baseUrlOf(create('minimax')), 'https://api.minimax.io/v1');
    assert.equal(baseUrlOf(create('dashscope')), 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1');
  });
});

describe('headers', () => {
  const bearer = { authorization: 'Bearer secret' };
  for (const type of ['replicate', 'kling', 'luma', 'minimax', 'dashscope'])
    test(`${type}: the key`, async () =>
      assert.deepEqual(await headersOf(create(type), credentialOf(type, 'secret')), bearer));

  test('Runway: a version too', async () =>
    assert.deepEqual(await headersOf(create('runway'), keyCredential('secret')), {
      ...bearer,
      'x-runway-version': '2024-11-06',
    }));

  test('Kling: a pair of keys signs a token that lasts half an hour', async () => {
    const [head = '', claims = '', signature] = signedToken(
      { id: 'access', secret: 'se:cret' },
      1_795_000_000_999,
    ).split('.');
    const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
    assert.deepEqual(read(head), { alg: 'HS256', typ: 'JWT' });
    assert.deepEqual(read(claims), { iss: 'access', exp: 1_795_001_800, nbf: 1_794_999_995 });
    assert.equal(signature, createHmac('sha256', 'se:cret').update(`${head}.${claims}`).digest('base64url'));
    const pair = credentialOf('kling', 'access:se:cret');
    assert.deepEqual(pair, { type: 'key-pair', id: 'access', secret: 'se:cret' });
    const { authorization = '' } = await headersOf(create('kling'), pair, 1_795_000_000_999);
    assert.equal(authorization, `Bearer ${[head, claims, signature].join('.')}`);
    assert.ok(!authorization.includes('secret'));
  });
});
