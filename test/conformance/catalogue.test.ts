/** Conformance: the public lists of models. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS, type ProtocolId, sendRaw } from '../gateway/harness.ts';
import { IDS, useRig } from './rig.ts';

const rig = useRig({
  providers: `
  anthropic: { type: anthropic, base_url: "URL", api_key: k }
  slashes: { type: openai-compatible, base_url: "URL/v1", models: [{ id: x/y/z }, { id: "m:free" }] }`,
});

const LISTS: Record<ProtocolId, string> = {
  chat: '/v1/models',
  messages: '/anthropic/v1/models',
  generate: '/gemini/v1beta/models',
};

const idOf = (model: Json): string => model.id ?? model.name.replace(/^models\//, '');
const listOf = (body: Json): Json[] => body.data ?? body.models;

async function get(path: string, headers: Record<string, string> = {}): Promise<{ status: number; body: Json }> {
  const response = await sendRaw(rig.gateway.url, { method: 'GET', path, headers });
  assert.match(String(response.headers['content-type']), /^application\/json/);
  return { status: response.status, body: JSON.parse(response.text) };
}

async function ok(path: string, headers: Record<string, string> = {}): Promise<Json> {
  const { status, body } = await get(path, headers);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const SHARED = ['architecture', 'pricing', 'description'];
const SNAKE = [...SHARED, 'id', 'owned_by', 'canonical_slug', 'context_length', 'top_provider', 'supported_parameters'];

/** The members that the specification lists, for each shape. */
const MEMBERS: Record<ProtocolId, string[]> = {
  chat: [
    ...SNAKE,
    ...['object', 'created', 'name', 'expiration_date', 'per_request_limits', 'default_parameters'],
    ...['links', 'supported_voices'],
  ],
  messages: [
    ...SNAKE,
    ...['type', 'display_name', 'created_at', 'max_input_tokens', 'max_tokens', 'expiration_date'],
    ...['capabilities', 'lifecycle', 'line', 'deprecated_at', 'retires_at'],
  ],
  generate: [
    ...SHARED,
    ...['name', 'version', 'displayName', 'inputTokenLimit', 'outputTokenLimit', 'supportedGenerationMethods'],
    ...['ownedBy', 'canonicalSlug', 'contextLength', 'topProvider', 'supportedParameters', 'expirationDate'],
  ],
};

for (const protocol of IDS) {
  const list = LISTS[protocol];

  describe(`the catalogue of ${protocol}`, () => {
    test('checklist 86: every model of every provider, in the shape of the specification', async () => {
      const body = await ok(list);
      const models = listOf(body);
      const ids = models.map(idOf);
      for (const id of ['a/m', 'b/m', 'c/m', 'slashes/x/y/z', 'slashes/m:free']) assert.ok(ids.includes(id), id);
      assert.equal(new Set(ids).size, ids.length);
      for (const model of models) {
        assert.deepEqual(Object.keys(model).sort(), [...MEMBERS[protocol]].sort(), idOf(model));
        for (const price of Object.values(model.pricing))
          assert.match(String(price), protocol === 'chat' ? /^(-1|\d+(\.\d+)?)$/ : /^\d+(\.\d+)?$/);
      }
      if (protocol === 'chat') {
        assert.deepEqual(Object.keys(body), ['object', 'data', 'total_count', 'links']);
        assert.deepEqual([body.object, body.total_count, body.links], ['list', models.length, { next: null }]);
      }
      if (protocol === 'generate') assert.deepEqual(Object.keys(body), ['models']);
      if (protocol !== 'messages') return;
      assert.deepEqual([body.has_more, body.first_id, body.last_id], [false, ids[0], ids.at(-1)]);
      for (const model of models) assert.match(model.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    });

    test('checklist 86: the models of one provider, and of none', async () => {
      const ids = listOf(await ok(`${list}/slashes`)).map(idOf);
      assert.deepEqual(ids, ['slashes/x/y/z', 'slashes/m:free']);
      assert.equal((await get(`${list}/unknown`)).status, 404);
    });

    const spellings: [path: string, id: string][] = [
      ['a/m', 'a/m'],
      ['a%2Fm', 'a/m'],
      ['a%2fm', 'a/m'],
      ['slashes/x/y/z', 'slashes/x/y/z'],
      ['slashes%2Fx%2Fy%2Fz', 'slashes/x/y/z'],
      ['slashes/x%2Fy/z', 'slashes/x/y/z'],
      ['slashes/m:free', 'slashes/m:free'],
      ['slashes%2Fm%3Afree', 'slashes/m:free'],
    ];
    for (const [path, id] of spellings) {
      test(`checklist 10, 87: ${path} is ${id}`, async () => {
        assert.equal(idOf(await ok(`${list}/${path}`)), id);
      });
    }

    for (const path of [
      'a%252Fm',
      'a/../a/m',
      'a/%2e%2e/a/m',
      'a/./m',
      '..%2Fa%2Fm',
      'a//m',
      'a/m/..',
      '%zz',
      'a/%00',
    ]) {
      test(`checklist 10: ${path} is nothing`, async () => {
        assert.equal((await get(`${list}/${path}`)).status, 404);
      });
    }

    test('checklist 88: credentials do not matter, not even wrong ones', async () => {
      const wrong = { authorization: 'Bearer wrong', 'x-api-key': 'wrong', 'x-goog-api-key': 'wrong' };
      const plain = await ok(list);
      for (const headers of [wrong, HEADERS[protocol]]) assert.deepEqual(await ok(list, headers), plain);
      assert.equal(idOf(await ok(`${list}/a/m`, wrong)), 'a/m');
      assert.deepEqual(await ok(`${list}?key=wrong`), plain);
    });
  });
}

describe('pages', () => {
  test('checklist 86: generate pages by pageSize and pageToken, every model once', async () => {
    const seen: string[] = [];
    let token = '';
    do {
      const body = await ok(`${LISTS.generate}?pageSize=3${token && `&pageToken=${encodeURIComponent(token)}`}`);
      assert.ok(body.models.length <= 3);
      seen.push(...body.models.map(idOf));
      token = body.nextPageToken ?? '';
    } while (token !== '');
    assert.deepEqual(seen, listOf(await ok(LISTS.generate)).map(idOf));
  });

  test('checklist 86, 87: messages pages by limit and after_id, every model once', async () => {
    const seen: string[] = [];
    let after = '';
    for (;;) {
      const body = await ok(`${LISTS.messages}?limit=3${after && `&after_id=${encodeURIComponent(after)}`}`);
      seen.push(...body.data.map(idOf));
      assert.deepEqual([body.first_id, body.last_id], [body.data[0].id, body.data.at(-1).id]);
      if (!body.has_more) break;
      after = body.last_id;
    }
    assert.deepEqual(seen, listOf(await ok(LISTS.messages)).map(idOf));
  });
});

test('checklist 89: discovery of a coding agent is quick and not redirected', async () => {
  const started = performance.now();
  const body = await ok(`${LISTS.messages}?limit=1000`);
  assert.ok(performance.now() - started < 10_000);
  assert.ok(body.data.some(({ id }: Json) => id.startsWith('anthropic/')));
  assert.equal(body.has_more, false);
});
