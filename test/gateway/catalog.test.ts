/** The public catalog: nine endpoints in three shapes, of the models that can be reached as things are. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { errorName } from '../faults/wires.ts';
import {
  answerJson,
  ask,
  HEADERS,
  type ProtocolId,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

const BASES: Record<ProtocolId, string> = {
  chat: '/v1/models',
  messages: '/anthropic/v1/models',
  generate: '/gemini/v1beta/models',
};
const IDS = Object.keys(BASES) as ProtocolId[];
const DATED = { id: 'maker/m', canonical_slug: 'maker/m-20260101' };

let upstream: TestUpstream;
let gateway: TestGateway;
/** What the upstream's list of models answers at the moment. */
let list: { status: number; ids: string[] } = { status: 503, ids: [] };

before(async () => {
  upstream = await startUpstream((call, response) => {
    if (!call.path.endsWith('/models')) return answerJson(response, {}, 404);
    if (call.path.startsWith('/router')) return answerJson(response, { data: [DATED] });
    answerJson(response, { object: 'list', data: list.ids.map((id) => ({ id, object: 'model' })) }, list.status);
  });
  gateway = await startTestGateway(`
providers:
  openai: {}
  anthropic: { api_key: k }
  own:
    type: openai-compatible
    base_url: "${upstream.url}/v1"
    models:
      - id: full/one
        name: The One
        context_length: 1000
        max_completion_tokens: 100
        pricing: { prompt: "0.0000025", completion: "0.00001" }
        input_modalities: [text, image]
        created: 1700000000
        supported_parameters: [temperature, tools]
      - { id: bare }
  google:
    api_key: k
    models: [{ id: gemini-mine, name: Mine }, { id: gemini-3.5-flash, name: Renamed }]
  router: { type: openai-compatible, base_url: "${upstream.url}/router", models: discover }
  late: { type: openai-compatible, base_url: "${upstream.url}/late", models: discover }
`);
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

async function get(path: string, headers: Record<string, string> = {}): Promise<{ response: Response; body: Json }> {
  const response = await fetch(gateway.url + path, { headers });
  const text = await response.text();
  return { response, body: text === '' ? undefined : JSON.parse(text) };
}

function idsOf(protocol: ProtocolId, body: Json): string[] {
  if (protocol !== 'generate') return body.data.map(({ id }: Json) => id);
  return body.models.map(({ name }: Json) => name.replace(/^models\//, ''));
}

const architecture = {
  modality: 'text+image->text',
  input_modalities: ['text', 'image'],
  output_modalities: ['text'],
  tokenizer: 'Other',
  instruct_type: null,
};
const pricing = { prompt: '0.0000025', completion: '0.00001' };
const limits = { context_length: 1000, max_completion_tokens: 100, is_moderated: false };

/** Every field of the specification, and nothing besides. */
const SHAPES: Record<ProtocolId, Json> = {
  chat: {
    id: 'own/full/one',
    object: 'model',
    created: 1700000000,
    owned_by: 'full',
    canonical_slug: 'own/full/one',
    name: 'The One',
    description: '',
    context_length: 1000,
    architecture,
    pricing,
    top_provider: limits,
    per_request_limits: null,
    supported_parameters: ['temperature', 'tools'],
    default_parameters: null,
    expiration_date: null,
    links: { details: '/v1/models/own/full/one' },
    supported_voices: null,
  },
  messages: {
    id: 'own/full/one',
    type: 'model',
    created_at: '2023-11-14T22:13:20Z',
    owned_by: 'full',
    canonical_slug: 'own/full/one',
    display_name: 'The One',
    max_input_tokens: 1000,
    max_tokens: 100,
    capabilities: null,
    lifecycle: 'active',
    line: null,
    deprecated_at: null,
    retires_at: null,
    description: '',
    context_length: 1000,
    architecture,
    pricing,
    top_provider: limits,
    supported_parameters: ['temperature', 'tools'],
    expiration_date: null,
  },
  generate: {
    name: 'models/own/full/one',
    version: '2023-11-14',
    displayName: 'The One',
    description: '',
    inputTokenLimit: 1000,
    outputTokenLimit: 100,
    supportedGenerationMethods: ['generateContent', 'countTokens'],
    ownedBy: 'full',
    canonicalSlug: 'own/full/one',
    contextLength: 1000,
    architecture,
    pricing,
    topProvider: limits,
    supportedParameters: ['temperature', 'tools'],
    expirationDate: null,
  },
};

for (const protocol of IDS) {
  const base = BASES[protocol];
  describe(`86: the catalog in the shape of ${protocol}`, () => {
    test('a model, field by field, the same in the list', async () => {
      const { response, body } = await get(`${base}/own/full/one`);
      assert.equal(response.status, 200);
      assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
      assert.ok(response.headers.get(protocol === 'messages' ? 'request-id' : 'x-request-id'));
      assert.ok(typeof body.description === 'string' && body.description.length > 10);
      assert.deepEqual({ ...body, description: '' }, SHAPES[protocol]);
      const all = (await get(base)).body;
      const same = (all.data ?? all.models).find((model: Json) => (model.id ?? model.name).endsWith('own/full/one'));
      assert.deepEqual(same, body);
    });

    test('the list’s envelope', async () => {
      const { body } = await get(`${base}/own`);
      const ids = ['own/full/one', 'own/bare'];
      assert.deepEqual(idsOf(protocol, body).sort(), ids.sort());
      const { data: _, models: __, ...envelope } = body;
      const expected: Record<ProtocolId, Json> = {
        chat: { object: 'list', total_count: 2, links: { next: null } },
        messages: { has_more: false, first_id: body.data?.at(0).id, last_id: body.data?.at(-1).id },
        generate: {},
      };
      assert.deepEqual(envelope, expected[protocol]);
    });

    test('only models that can be reached: no provider without a key', async () => {
      const ids = idsOf(protocol, (await get(base)).body);
      assert.ok(ids.some((id) => id.startsWith('anthropic/')));
      assert.ok(!ids.some((id) => id.startsWith('openai/')));
      assert.equal(new Set(ids).size, ids.length);
    });

    test('what the configuration adds and overrides', async () => {
      const name = { chat: 'name', messages: 'display_name', generate: 'displayName' }[protocol];
      assert.equal((await get(`${base}/google/gemini-mine`)).body[name], 'Mine');
      const { body } = await get(`${base}/google/gemini-3.5-flash`);
      assert.equal(body[name], 'Renamed');
      assert.ok((body.context_length ?? body.contextLength) > 100_000, 'the catalog’s own facts stay');
    });

    test('a model answers to its canonical slug', async () => {
      const giveUp = AbortSignal.timeout(10_000);
      let all: Json[] = [];
      while (all.length === 0) {
        giveUp.throwIfAborted();
        all = (await get(`${BASES.chat}/router`)).body.data;
      }
      const dated = all.find((model: Json) => model.canonical_slug !== model.id) ?? assert.fail();
      assert.equal(dated.canonical_slug, 'router/maker/m-20260101');
      const { response, body } = await get(`${base}/${dated.canonical_slug}`);
      assert.equal(response.status, 200);
      assert.ok([dated.canonical_slug, dated.id].includes((body.id ?? body.name).replace('models/', '')));
    });

    test('10: slashes may be percent-encoded; double-encoded and dotted ones are nothing', async () => {
      assert.equal((await get(`${base}/own%2Ffull%2Fone`)).response.status, 200);
      assert.equal((await get(`${base}/own/full%2Fone`)).response.status, 200);
      for (const path of ['own%252Fbare', 'own/%2e%2e%2fown/bare', 'own%2F..%2Fbare']) {
        const { response, body } = await get(`${base}/${path}`);
        assert.equal(response.status, 404, path);
        errorName(protocol, body);
      }
    });

    test('an unknown provider or model gives 404 in its own shape', async () => {
      for (const path of ['nobody', 'nobody/m', 'own/none', 'openai', 'openai/gpt-5.5']) {
        const { response, body } = await get(`${base}/${path}`);
        assert.equal(response.status, 404, path);
        const names = { chat: 'model_not_found', messages: 'not_found_error', generate: 'NOT_FOUND' };
        assert.equal(errorName(protocol, body), names[protocol]);
      }
    });

    test('88: credentials do not matter, not even wrong ones', async () => {
      for (const name of ['authorization', 'x-api-key', 'x-goog-api-key']) {
        assert.equal((await get(base, { [name]: 'Bearer wrong' })).response.status, 200);
      }
      assert.equal((await get(`${base}?key=wrong`)).response.status, 200);
    });

    test('ETag and 304', async () => {
      for (const path of [base, `${base}/own`, `${base}/own/bare`]) {
        const etag = (await get(path)).response.headers.get('etag') ?? assert.fail();
        for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
          const { response, body } = await get(path, { 'if-none-match': tag });
          assert.equal(response.status, 304);
          assert.equal(body, undefined);
          assert.equal(response.headers.get('etag'), etag);
        }
        assert.equal((await get(path, { 'if-none-match': '"other"' })).response.status, 200);
      }
    });

    test('pages, one after the other, are the whole list', async () => {
      const whole = idsOf(protocol, (await get(`${base}/anthropic`)).body);
      const names = { chat: ['limit', 'after'], messages: ['limit', 'after_id'], generate: ['pageSize', 'pageToken'] };
      const [size, after] = names[protocol];
      const seen: string[] = [];
      for (let last = '', more = true; more; ) {
        const query = `${size}=3${last === '' ? '' : `&${after}=${encodeURIComponent(last)}`}`;
        const { response, body } = await get(`${base}/anthropic?${query}`);
        assert.equal(response.status, 200);
        const ids = idsOf(protocol, body);
        assert.ok(ids.length > 0 && ids.length <= 3);
        seen.push(...ids);
        last = body.nextPageToken ?? body.last_id ?? ids.at(-1);
        more = protocol === 'generate' ? body.nextPageToken !== undefined : body.has_more === true;
        assert.ok(seen.length <= whole.length);
      }
      assert.deepEqual(seen, whole);
    });

    test('a page size that is none', async () => {
      const size = protocol === 'generate' ? 'pageSize' : 'limit';
      const { response, body } = await get(`${base}?${size}=many`);
      assert.equal(response.status, 400);
      errorName(protocol, body);
    });
  });
}

test('a list of names has no more than these, in the same order, whole, of a provider and in pages', async () => {
  for (const path of ['/v1/models', '/v1/models/own']) {
    const { body: whole } = await get(path);
    const names = whole.data.map(({ id, name }: Json) => ({ id, name }));
    const { response, body } = await get(`${path}?view=names`);
    assert.equal(response.status, 200);
    assert.deepEqual(body, { ...whole, data: names });
    const { body: page } = await get(`${path}?view=names&limit=1`);
    assert.deepEqual([page.data, page.has_more], [names.slice(0, 1), true]);
    assert.deepEqual((await get(page.links.next)).body.data, names.slice(1, 2));
    assert.deepEqual((await get(path)).body, whole);
  }
  const { response, body } = await get('/v1/models?view=prices');
  assert.deepEqual([response.status, body.error.param, body.error.message], [400, 'view', 'view must be names.']);
});

test('89: messages clients ask for a thousand', async () => {
  const { response, body } = await get('/anthropic/v1/models?limit=1000');
  assert.equal(response.redirected, false);
  assert.equal(body.has_more, false);
});

describe('models asked of the upstream', () => {
  test('a call for one says that the list cannot be read, as long as that is so', async () => {
    const response = await ask(gateway, { protocol: 'chat', model: 'late/new', text: 'hi' });
    assert.equal(response.status, 503);
    assert.equal(response.headers.get('retry-after'), '1');
    const { error } = JSON.parse(await response.text());
    assert.match(error.message, /^The models of the provider "late" are not known at the moment: .*503/);
    assert.match(error.message, /providers\.late\.models/);
  });

  test('other models that are named answer in place of one, or beside it', async () => {
    for (const models of [
      ['late/new', 'own/bare'],
      ['own/bare', 'late/new'],
    ]) {
      const before = upstream.calls.length;
      const body = { models, messages: [{ role: 'user', content: 'hi' }] };
      await (await post(`${gateway.url}/v1/chat/completions`, body, HEADERS.chat)).text();
      const asked = upstream.calls.slice(before).map(({ path }) => path);
      assert.ok(asked.includes('/v1/chat/completions'), asked.join());
    }
  });

  test('a name that only a provider has that waits for its key says so', async () => {
    const response = await ask(gateway, { protocol: 'chat', model: 'gpt-5', text: 'hi' });
    assert.equal(response.status, 404);
    assert.match(await response.text(), /one of the provider \\"openai\\", which is not connected; polygate providers/);
  });

  test('a provider whose list fails at first has none, and gets them when it answers', async () => {
    const none = { object: 'list', data: [], total_count: 0, links: { next: null } };
    assert.deepEqual((await get('/v1/models/late')).body, none);
    list = { status: 200, ids: ['new', 'maker/other'] };
    // A call for a model that is not known yet asks again, though not at once.
    let listed: string[] = [];
    while (listed.length === 0) {
      await (await ask(gateway, { protocol: 'chat', model: 'late/new', text: 'hi' })).text();
      listed = idsOf('chat', (await get('/v1/models/late')).body);
    }
    assert.deepEqual(listed.sort(), ['late/maker/other', 'late/new']);
    assert.ok(upstream.calls.some(({ path }) => path === '/late/chat/completions'));
  });

  test('they are in all lists, and answer by themselves', async () => {
    for (const protocol of IDS) {
      assert.ok(idsOf(protocol, (await get(BASES[protocol])).body).includes('late/maker/other'));
      assert.equal((await get(`${BASES[protocol]}/late/maker/other`)).response.status, 200);
    }
  });

  test('the upstream is not asked at every call for an unknown model', async () => {
    const asked = () => upstream.calls.filter(({ path }) => path === '/late/models').length;
    const before = asked();
    const began = performance.now();
    const calls = Array.from({ length: 20 }, () => ask(gateway, { protocol: 'chat', model: 'late/x', text: 'hi' }));
    for (const response of await Promise.all(calls)) assert.equal(response.status, 404);
    // Once in a second, of which the calls take a small part unless the machine is busy.
    const seconds = Math.floor((performance.now() - began) / 1000);
    assert.ok(asked() - before <= 1 + seconds, `${asked() - before} times in more than ${seconds} s`);
  });
});
