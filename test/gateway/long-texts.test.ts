/** Images and texts of a megabyte through a gateway: passed on, changed around them, and translated; and checks of texts as long. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { WIRES } from '../faults/wires.ts';
import {
  answerJson,
  HEADERS,
  PATHS,
  type ProtocolId,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

const BASE64 = 'iVBORw0KGgoA'.repeat(100_000);
const URL_TEXT = `data:image/png;base64,${BASE64}`;

/** A body of each protocol with an image, spelled so that any change shows. */
const BODIES: Record<ProtocolId, string> = {
  chat: `{"model": "MODEL","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"${URL_TEXT}", "new":1.0}}]}]}`,
  messages: `{"model": "MODEL","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${BASE64}"}}]}]}`,
  generate: `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"${BASE64}"}}]}], "generationConfig":{"maxOutputTokens":9}}`,
};

/** The same with a text in place of the image. */
const TEXT = 'some words of a document '.repeat(40_000);
const TEXT_BODIES: Record<ProtocolId, string> = {
  chat: `{"model": "MODEL","max_tokens":9,"messages":[{"role":"user","content":"${TEXT}", "new":1.0}]}`,
  messages: `{"model": "MODEL","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"${TEXT}"}]}]}`,
  generate: `{"contents":[{"role":"user","parts":[{"text":"${TEXT}"}]}], "generationConfig":{"maxOutputTokens":9}}`,
};

let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream((call, response) => {
    const protocol = (['messages', 'generate'] as const).find((name) => call.path.toLowerCase().includes(name));
    answerJson(response, WIRES[protocol ?? 'chat'].whole);
  });
  gateway = await startTestGateway(`
providers:
  chat: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }
  renaming: { type: mistral, base_url: "${upstream.url}/v1", api_key: k, models: [{ id: m }] }
  messages: { type: anthropic, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
  generate: { type: google, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
`);
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

async function send(protocol: ProtocolId, model: string, body: string): Promise<{ sent: string; path: string | null }> {
  const url = gateway.url + PATHS[protocol](model, false);
  const response = await post(url, body.replace('MODEL', model), HEADERS[protocol]);
  assert.equal(response.status, 200, await response.text());
  const { bytes } = upstream.calls.at(-1) ?? assert.fail();
  return { sent: bytes.toString(), path: response.headers.get('x-polygate-path') };
}

for (const [kind, bodies, content] of [
  ['an image', BODIES, BASE64],
  ['a text', TEXT_BODIES, TEXT],
] as const) {
  for (const protocol of ['chat', 'messages', 'generate'] as const) {
    test(`${kind} of ${protocol} is passed on byte by byte`, async () => {
      const { sent, path } = await send(protocol, `${protocol}/m`, bodies[protocol]);
      assert.equal(path, 'passthrough');
      assert.ok(sent === bodies[protocol].replace('MODEL', 'm'));
    });

    for (const target of ['chat', 'messages', 'generate'].filter((other) => other !== protocol)) {
      test(`${kind} of ${protocol} is translated to ${target}`, async () => {
        const { sent, path } = await send(protocol, `${target}/m`, bodies[protocol]);
        assert.equal(path, 'translated');
        assert.ok(sent.includes(content));
      });
    }
  }

  test(`a body is changed around ${kind}`, async () => {
    const body = bodies.chat.replace('max_tokens', 'max_completion_tokens');
    const { sent, path } = await send('chat', 'renaming/m', body);
    assert.equal(path, 'patched');
    assert.deepEqual(JSON.parse(sent), { ...JSON.parse(bodies.chat), model: 'm' });
  });
}

describe('a text as long is checked', () => {
  const refused = async (body: Json) => {
    const response = await post(gateway.url + PATHS.chat(), body, HEADERS.chat);
    return { status: response.status, error: ((await response.json()) as Json).error };
  };
  const filler = { role: 'user', content: 'x'.repeat(600_000) };

  test('for its length', async () => {
    const call = { role: 'tool', tool_call_id: 'y'.repeat(300_000), content: 'a' };
    const { status, error } = await refused({ model: 'chat/m', messages: [filler, call] });
    assert.equal(status, 400);
    assert.equal(error.param, 'messages[1].tool_call_id');
    assert.match(error.message, /at most 65536 characters/);
  });

  test('for its type', async () => {
    const { status, error } = await refused({ model: 'chat/m', messages: [filler], max_tokens: 'z'.repeat(300_000) });
    assert.equal(status, 400);
    assert.equal(error.param, 'max_tokens');
    const part = { type: 'z'.repeat(300_000), text: 1 };
    const other = await refused({
      model: 'chat/m',
      messages: [filler, { role: 'user', content: [{ ...part, type: 'text' }] }],
    });
    assert.equal(other.error.param, 'messages[1].content[0].text');
  });

  test('for the head of its data URL', async () => {
    const image = { type: 'image_url', image_url: { url: `data:${'z'.repeat(300_000)}` } };
    const { status, error } = await refused({
      model: 'chat/m',
      messages: [filler, { role: 'user', content: [image] }],
    });
    assert.equal(status, 400);
    assert.match(error.message, /data URL/);
  });

  test('as percent-encoded data', async () => {
    const image = { type: 'image_url', image_url: { url: `data:,${'%41%'.repeat(100_000)}` } };
    const messages = [filler, { role: 'user', content: [image] }];
    assert.equal((await refused({ model: 'chat/m', messages })).status, 400);
    image.image_url.url = `data:,${'%41'.repeat(100_000)}`;
    const response = await post(gateway.url + PATHS.chat(), { model: 'chat/m', messages }, HEADERS.chat);
    assert.equal(response.status, 200);
  });
});
