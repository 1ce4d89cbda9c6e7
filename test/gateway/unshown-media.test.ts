/** Pictures in an answer to a client whose protocol has no place for them. */

import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createManualClock } from '../jobs/manual-clock.ts';
import {
  answerEvents,
  answerJson,
  HEADERS,
  PATHS,
  question,
  sendRaw,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

const PICTURE = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } };
const ANSWER = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'A cat.' }, PICTURE] }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
};
const LINKED = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'A dog.',
        images: [{ type: 'image_url', image_url: { url: 'https://cdn.example/dog.png' } }],
      },
      finish_reason: 'stop',
    },
  ],
};

const INLINE = structuredClone(LINKED);
for (const { message } of INLINE.choices) {
  for (const { image_url } of message.images) image_url.url = 'data:image/png;base64,iVBORw0KGgo=';
}

/** Sources of an answer without words. */
const SOURCES = structuredClone(LINKED);
for (const choice of SOURCES.choices) {
  const url_citation = { url: 'https://example.com/', title: 'Page', start_index: 0, end_index: 0 };
  Object.assign(choice, {
    message: { role: 'assistant', content: '', annotations: [{ type: 'url_citation', url_citation }] },
  });
}

let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream(({ path }, response) => {
    if (path.includes('sources')) return answerJson(response, SOURCES);
    if (path.includes('chat')) return answerJson(response, path.includes('inline') ? INLINE : LINKED);
    if (path.includes(':stream')) return answerEvents(response, `data: ${JSON.stringify(ANSWER)}\n\n`);
    answerJson(response, ANSWER);
  });
  gateway = await startTestGateway(providers());
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

function providers(): string {
  return `
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }
  b: { type: openai-compatible, base_url: "${upstream.url}/inline/v1", models: [{ id: m }] }
  s: { type: openai-compatible, base_url: "${upstream.url}/sources/v1", models: [{ id: m }] }
  c: { type: google, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
`;
}

function ask(model: string, stream: boolean, url = gateway.url) {
  const body = JSON.stringify({ ...question('messages', model, 'Draw', stream), top_k: 3, metadata: { other: 1 } });
  const headers = { ...HEADERS.messages, 'content-type': 'application/json' };
  return sendRaw(url, { method: 'POST', path: PATHS.messages(), headers, body });
}

test('are named in the header of a whole response, and nothing is put into the model’s mouth', async () => {
  const { status, headers, text } = await ask('c/m', false);
  assert.equal(status, 200, text);
  assert.deepEqual(JSON.parse(text).content, [{ type: 'text', text: 'A cat.' }]);
  assert.equal(headers['x-polygate-dropped'], 'metadata.other, content.image');
});

test('are named in the trailer of a stream', async () => {
  const { headers, trailers, text } = await ask('c/m', true);
  assert.equal(headers['x-polygate-dropped'], 'metadata.other');
  assert.equal(trailers['x-polygate-dropped'], 'content.image');
  assert.equal(text.match(/content_block_start/g)?.length, 2, text);
  assert.ok(!text.includes('image/png'));
});

test('sources of an answer without words are named too', async () => {
  const { headers, text } = await ask('s/m', false);
  assert.deepEqual(JSON.parse(text).content, []);
  assert.equal(headers['x-polygate-dropped'], 'metadata.other, top_k, content.citations');
});

test('are linked where they have an address', async () => {
  const { headers, text } = await ask('a/m', false);
  assert.deepEqual(JSON.parse(text).content, [{ type: 'text', text: 'A dog.' }]);
  assert.equal(headers.link, '<https://cdn.example/dog.png>; rel="enclosure"');
});

const LINK = /^<(http:[^>]+\/v1\/files\/pictures\/[0-9a-f]{32}\.png\?[^>]+)>; rel="enclosure"$/;

function addressIn(link: unknown): string {
  const [, address = ''] = LINK.exec(String(link)) ?? [];
  assert.notEqual(address, '', String(link));
  return address;
}

for (const stream of [false, true]) {
  test(`are kept and linked where they have no address, ${stream ? 'streamed' : 'whole'}`, async () => {
    const { headers, trailers } = await ask('c/m', stream);
    const address = addressIn((stream ? trailers : headers).link);
    const opened = await fetch(address);
    assert.equal(opened.status, 200);
    assert.deepEqual(Buffer.from(await opened.arrayBuffer()), Buffer.from(PICTURE.inlineData.data, 'base64'));
    assert.equal(opened.headers.get('content-type'), 'image/png');
    assert.equal(opened.headers.get('content-disposition'), 'inline; filename="picture.png"');
    assert.equal(opened.headers.get('x-content-type-options'), 'nosniff');
    const ranged = await fetch(address, { headers: { range: 'bytes=1-3' } });
    assert.deepEqual([ranged.status, await ranged.text()], [206, 'PNG']);
  });
}

test('are kept and linked where their address is a data URL', async () => {
  const opened = await fetch(addressIn((await ask('b/m', false)).headers.link));
  assert.deepEqual(Buffer.from(await opened.arrayBuffer()), Buffer.from(PICTURE.inlineData.data, 'base64'));
});

test('are linked by a signature that opens no other picture', async () => {
  const [one, other] = [await ask('c/m', false), await ask('c/m', false)].map(
    ({ headers }) => new URL(addressIn(headers.link)),
  );
  assert.ok(one && other);
  assert.notEqual(one.pathname, other.pathname);
  for (const search of ['', other.search]) {
    const refused = await fetch(new URL(one.pathname + search, one));
    const { error } = (await refused.json()) as { error: { code: string } };
    assert.deepEqual([refused.status, error.code], [403, 'invalid_signature']);
  }
});

test('are kept in private files', async () => {
  const folder = join(gateway.folder, 'pictures');
  await fetch(addressIn((await ask('c/m', false)).headers.link));
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
});

test('are only named where the mirror is off', async (context) => {
  const off = await startTestGateway(`videos: { mirror: off }\n${providers()}`);
  context.after(() => off.close());
  const { headers } = await ask('c/m', false, off.url);
  assert.equal(headers['x-polygate-dropped'], 'metadata.other, content.image');
  assert.equal(headers.link, undefined);
});

test('are gone when their retention ends, and their address before them when it expires', async (context) => {
  const HOUR_MS = 3_600_000;
  for (const [settings, status] of [
    ['{ keep_media: 1h, url_lifetime: 7d }', 410],
    ['{ keep_media: 7d, url_lifetime: 1h }', 403],
  ] as const) {
    const clock = createManualClock(Date.now());
    const brief = await startTestGateway(`videos: ${settings}\n${providers()}`, { clock });
    context.after(() => brief.close());
    const address = addressIn((await ask('c/m', false, brief.url)).headers.link);
    assert.equal((await fetch(address)).status, 200);
    clock.advance(3 * HOUR_MS);
    assert.equal((await fetch(address)).status, status, settings);
    const names = () => readdirSync(join(brief.folder, 'pictures'));
    for (let tries = 0; status === 410 && names().length > 0 && tries < 100; tries++) {
      clock.advance(HOUR_MS);
      await pause(20);
    }
    assert.equal(names().length, status === 410 ? 0 : 1, settings);
  }
});
