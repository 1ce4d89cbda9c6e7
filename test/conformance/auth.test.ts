/** Conformance: who may ask, under which path, and which model a path means. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HEADERS, KEY, PATHS, type ProtocolId, question, sendRaw } from '../gateway/harness.ts';
import { IDS, MODELS, send, useRig, whole } from './rig.ts';

const rig = useRig({
  providers: `
  free: { type: openai-compatible, base_url: "URL/v1", models: [{ id: "m:free" }] }
  fireworks: { type: openai-compatible, base_url: "URL/v1", models: [{ id: accounts/x/models/y }] }`,
});

const WRONG = 'sk-wrong-key-000000000000';
const VERSION = { 'anthropic-version': '2023-06-01' };

interface Ask {
  path?: string;
  headers?: Record<string, string>;
}

/** A plain question with exactly these headers. */
async function status(protocol: ProtocolId, { path = PATHS[protocol](MODELS[protocol], false), headers }: Ask) {
  const body = JSON.stringify(question(protocol, MODELS[protocol], 'hi'));
  const json = { 'content-type': 'application/json' };
  return (await sendRaw(rig.gateway.url, { method: 'POST', path, headers: { ...json, ...headers }, body })).status;
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

describe('credentials', () => {
  const keyed = `${PATHS.generate(MODELS.generate, false)}?key=`;
  const cases: [name: string, protocol: ProtocolId, ask: Ask, status: number][] = [
    ['checklist 1: messages takes x-api-key', 'messages', { headers: { ...VERSION, 'x-api-key': KEY } }, 200],
    ['checklist 1: messages takes Bearer', 'messages', { headers: { ...VERSION, ...bearer(KEY) } }, 200],
    [
      'checklist 1: both with the same key are one',
      'messages',
      { headers: { ...VERSION, 'x-api-key': KEY, ...bearer(KEY) } },
      200,
    ],
    [
      'checklist 1: both with different keys are refused, whichever is good',
      'messages',
      { headers: { ...VERSION, 'x-api-key': KEY, ...bearer(WRONG) } },
      401,
    ],
    [
      'checklist 2: a key in the query that differs from the header',
      'generate',
      { path: keyed + WRONG, headers: { 'x-goog-api-key': KEY } },
      401,
    ],
    ['checklist 2: chat takes Bearer', 'chat', { headers: bearer(KEY) }, 200],
    ['checklist 2: chat takes api-key', 'chat', { headers: { 'api-key': KEY } }, 200],
    ['checklist 2: chat does not take x-api-key', 'chat', { headers: { 'x-api-key': KEY } }, 401],
    ['checklist 2: chat does not take ?key=', 'chat', { path: `${PATHS.chat()}?key=${KEY}` }, 401],
    ['checklist 2: generate takes x-goog-api-key', 'generate', { headers: { 'x-goog-api-key': KEY } }, 200],
    ['checklist 2: generate takes x-gen-api-key', 'generate', { headers: { 'x-gen-api-key': KEY } }, 200],
    ['checklist 2: generate takes ?key=', 'generate', { path: keyed + KEY }, 200],
    ['checklist 2: generate takes Bearer', 'generate', { headers: bearer(KEY) }, 200],
    ['checklist 2: generate does not take x-api-key', 'generate', { headers: { 'x-api-key': KEY } }, 401],
  ];
  for (const [name, protocol, ask, expected] of cases) {
    test(name, async () => assert.equal(await status(protocol, ask), expected));
  }

  test('checklist 3: a key is in no line of the log, whatever place it comes in and however the request ends', async () => {
    const planted = [KEY, 'AIzaPlanted0123456789', 'sk-planted-in-a-body-0123456789', 'sk-planted-in-a-header-98765'];
    const [, inQuery, inBody, inHeader] = planted as [string, string, string, string];
    const paths = [
      keyed + KEY,
      keyed + inQuery,
      `/gemini/v1beta/nothing?key=${KEY}`,
      `/nothing?key=${KEY}`,
      `/v1/models?key=${inQuery}`,
      `${PATHS.generate('c/unknown', true)}&key=${KEY}`,
    ];
    for (const path of paths) await status('generate', { path });
    rig.answer((_call, response) => void response.destroy());
    await status('generate', { path: keyed + KEY });
    for (const protocol of IDS) {
      const change = { key: inBody, api_key: inBody, metadata: { user_id: inBody } };
      await send(rig, { protocol, model: MODELS.chat, change, headers: { 'x-custom-key': inHeader } });
      await send(rig, { protocol, model: 'a/unknown', change });
      await status(protocol, { headers: { 'x-api-key': inHeader, ...bearer(inHeader), ...VERSION } });
    }
    const log = JSON.stringify(rig.gateway.log);
    assert.ok(log.includes('refused') && log.includes('answered'), 'nothing was logged');
    for (const secret of [...planted, 'upstream-key-1', 'upstream-key-2']) assert.ok(!log.includes(secret), secret);
  });

  for (const protocol of IDS) {
    for (const [name, key] of Object.entries({ missing: undefined, wrong: WRONG, empty: '' })) {
      test(`checklist 4, 14: a ${name} key on ${protocol}`, async () => {
        const headers = { ...VERSION, ...(key !== undefined && bearer(key)) };
        const path = PATHS[protocol](MODELS[protocol], false);
        const response = await sendRaw(rig.gateway.url, { method: 'POST', path, headers, body: '{}' });
        assert.equal(response.status, 401);
        assert.match(String(response.headers['content-type']), /^application\/json/);
        const body = JSON.parse(response.text);
        const id = response.headers[protocol === 'messages' ? 'request-id' : 'x-request-id'];
        assert.match(String(id), /^req_\w/);
        switch (protocol) {
          case 'chat':
            assert.deepEqual([body.error.type, body.error.code], ['invalid_request_error', 'invalid_api_key']);
            assert.equal(body.error.param, null);
            break;
          case 'messages':
            assert.deepEqual([body.type, body.error.type, body.request_id], ['error', 'authentication_error', id]);
            break;
          case 'generate':
            assert.deepEqual([body.error.code, body.error.status], [401, 'UNAUTHENTICATED']);
            assert.equal(body.error.details[0].reason, 'API_KEY_INVALID');
        }
        assert.equal(rig.upstream.calls.length, 0);
      });
    }
  }
});

describe('versions and query', () => {
  const key = { 'x-api-key': KEY };
  const cases: [headers: Record<string, string>, status: number][] = [
    [{ 'anthropic-version': '2023-06-01' }, 200],
    [{ 'anthropic-version': '2026-10-21' }, 200],
    [{ 'msg-protocol-version': '2023-06-01' }, 200],
    [{}, 400],
    [{ 'anthropic-version': '' }, 400],
    [{ 'anthropic-version': '2099-01-01' }, 400],
  ];
  for (const [version, expected] of cases) {
    test(`checklist 5: messages with ${JSON.stringify(version)} is ${expected}`, async () => {
      assert.equal(await status('messages', { headers: { ...key, ...version } }), expected);
    });
  }

  const messages = PATHS.messages();
  const generate = PATHS.generate(MODELS.generate, false);
  const paths: [protocol: ProtocolId, path: string][] = [
    ['messages', `${messages}?beta=true`],
    ['messages', `${messages}?beta=true&unknown=%zz&x`],
    ['generate', `${generate}?alt=json`],
    ['generate', `${generate}?$alt=json&$fields=x&prettyPrint=false`],
    ['generate', `${generate}?alt=json&key=${KEY}&$.xgafv=2`],
  ];
  for (const [protocol, path] of paths) {
    test(`checklist 6: ${path.replace(KEY, 'KEY')}`, async () => {
      assert.equal(await status(protocol, { path, headers: HEADERS[protocol] }), 200);
    });
  }
});

describe('paths', () => {
  const all: [name: string, protocol: ProtocolId, paths: string[]][] = [
    ['checklist 7', 'generate', ['/gemini/v1/models/c/m', '/gemini/v1beta/models/c/m', '/gemini/v1beta1/models/c/m']],
    ['checklist 7', 'generate', ['/gemini/v1beta1/publishers/c/models/m', '/gemini/v1/publishers/c/models/m']],
    ['checklist 8', 'generate', ['/gemini/v1beta/c/m', '/gemini/v1/c/m']],
    ['checklist 11', 'messages', ['/anthropic/messages', '/anthropic/v1/messages']],
  ];
  for (const [name, protocol, paths] of all) {
    for (const path of paths) {
      test(`${name}: ${path}`, async () => {
        const method = protocol === 'generate' ? ':generateContent' : '';
        const body = await whole(rig, { protocol, model: MODELS[protocol], path: path + method });
        assert.equal(body.model ?? body.modelVersion, MODELS[protocol]);
        if (protocol !== 'generate') return;
        const counted = await send(rig, { protocol, model: 'c/m', path: `${path}:countTokens` });
        assert.notEqual(counted.status, 404);
        const list = await send(rig, { protocol, model: 'c/m', path: `${path}:streamGenerateContent` });
        assert.ok(Array.isArray(JSON.parse(list.text)));
      });
    }
  }

  const resolved: [name: string, model: string, upstreamId: string][] = [
    ['checklist 9: the method stands after the last colon', 'free/m:free', 'm:free'],
    ['checklist 12: an id with slashes', 'fireworks/accounts/x/models/y', 'accounts/x/models/y'],
  ];
  for (const [name, model, upstreamId] of resolved) {
    for (const protocol of IDS) {
      test(`${name}, on ${protocol}`, async () => {
        await whole(rig, { protocol, model });
        assert.equal(rig.sent().body.model, upstreamId);
      });
    }
  }

  for (const protocol of IDS) {
    for (const model of ['a/unknown', 'unknown/m', 'unknown', 'constructor/m']) {
      for (const stream of [false, true]) {
        test(`checklist 13: ${model} on ${protocol}, ${stream ? 'streamed' : 'whole'}`, async () => {
          const { status: code, text, headers } = await send(rig, { protocol, model, stream });
          assert.equal(code, 404, text);
          const { error } = JSON.parse(text);
          const expected = { chat: 'model_not_found', messages: 'not_found_error', generate: 'NOT_FOUND' };
          assert.equal(
            { chat: error.code, messages: error.type, generate: error.status }[protocol],
            expected[protocol],
          );
          assert.match(headers.get('content-type') ?? '', /^application\/json/);
          assert.equal(rig.upstream.calls.length, 0);
        });
      }
    }

    test(`checklist 14: a request id on every response of ${protocol}`, async () => {
      const name = protocol === 'messages' ? 'request-id' : 'x-request-id';
      const seen = new Set<string | null>();
      for (const model of [...Object.values(MODELS), 'a/unknown']) {
        for (const stream of [false, true]) seen.add((await send(rig, { protocol, model, stream })).headers.get(name));
      }
      rig.answer((_call, response) => void response.destroy());
      seen.add((await send(rig, { protocol, model: MODELS.chat })).headers.get(name));
      assert.equal(seen.size, 9, 'an id was given twice');
      for (const id of seen) assert.match(id ?? '', /^req_\w{8}/);
    });
  }
});
