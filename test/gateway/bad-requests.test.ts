/** Requests that are refused before anything goes upstream: each in its protocol's own words, naming the field. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Json } from '../../src/core/json/json.ts';
import { errorName, WIRES } from '../faults/wires.ts';
import {
  answerJson,
  HEADERS,
  KEY,
  PATHS,
  type ProtocolId,
  question,
  type RawRequest,
  type RawResponse,
  sendRaw,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

const MODELS: Record<ProtocolId, string> = { chat: 'a/m', messages: 'b/m', generate: 'c/m' };
const IDS = Object.keys(MODELS) as ProtocolId[];

const INVALID = {
  chat: [400, 'invalid_request'],
  messages: [400, 'invalid_request_error'],
  generate: [400, 'INVALID_ARGUMENT'],
} as const;
const UNKNOWN_MODEL = {
  chat: [404, 'model_not_found'],
  messages: [404, 'not_found_error'],
  generate: [404, 'NOT_FOUND'],
} as const;
const NOTHING_THERE = { ...UNKNOWN_MODEL, chat: [404, 'not_found'] } as const;
const NO_KEY = {
  chat: [401, 'invalid_api_key'],
  messages: [401, 'authentication_error'],
  generate: [401, 'UNAUTHENTICATED'],
} as const;

type Expected = Record<ProtocolId, readonly [number, string]>;

let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream((call, response) => {
    const protocol = IDS.find((name) => call.path.toLowerCase().includes(name)) ?? 'chat';
    answerJson(response, WIRES[protocol].whole);
  });
  const models = 'models: [{ id: m }, { id: org/sub/m }, { id: "m:free" }]';
  gateway = await startTestGateway(`
server: { body_limit: 256KiB }
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", ${models} }
  b: { type: anthropic, base_url: "${upstream.url}", api_key: k, ${models} }
  c: { type: google, base_url: "${upstream.url}", api_key: k, ${models} }
`);
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

beforeEach(() => {
  upstream.calls.length = 0;
});

const JSON_TYPE = { 'content-type': 'application/json' };

/** A good request, but for what is changed in it. */
function send(protocol: ProtocolId, change: Partial<RawRequest> = {}): Promise<RawResponse> {
  const body = JSON.stringify(question(protocol, MODELS[protocol], 'hi'));
  const path = PATHS[protocol](MODELS[protocol], false);
  const headers = { ...JSON_TYPE, ...HEADERS[protocol] };
  return sendRaw(gateway.url, { method: 'POST', path, headers, body, ...change });
}

function assertRefused(protocol: ProtocolId, response: RawResponse, expected: Expected): Json {
  const body = JSON.parse(response.text);
  assert.deepEqual([response.status, errorName(protocol, body)], expected[protocol], response.text);
  assert.match(response.headers['content-type'] ?? '', /^application\/json/);
  assert.match(String(response.headers[protocol === 'messages' ? 'request-id' : 'x-request-id']), /^req_/);
  assert.equal(upstream.calls.length, 0, 'the upstream was asked');
  return body;
}

function paramOf(protocol: ProtocolId, body: Json): string | undefined {
  if (protocol === 'chat') return body.error.param;
  if (protocol === 'messages') return /^[^\s:]+/.exec(body.error.message)?.[0];
  return body.error.details.find((detail: Json) => detail.fieldViolations)?.fieldViolations[0].field;
}

/** Bodies that are wrong in every protocol. */
const BODIES: Record<string, [body: string | Buffer, words: RegExp]> = {
  'nothing at all': ['', /empty/],
  'a truncated object': ['{"model":"a/m","messages":[{"role":"us', /not valid JSON/],
  'an object and more': ['{} {}', /not valid JSON/],
  'no JSON': ['model=a', /not valid JSON/],
  'bytes that are not UTF-8': [Buffer.from('{"x":"\xff\xfe"}', 'latin1'), /UTF-8/],
  'half a character': [Buffer.from('{"x":"🦊').subarray(0, 8), /UTF-8/],
  'an array': ['[{"model":"a/m"}]', /must be a JSON object/],
  'a string': ['"hi"', /must be a JSON object/],
  null: ['null', /must be a JSON object/],
  '101 levels': [`{"x":${'['.repeat(100)}${']'.repeat(100)}}`, /deeper than 100 levels/],
  'a number without end': [`{"x":${'1'.repeat(1100)}}`, /more than 1000 digits/],
  'too many values': [`{"x":[${'0,'.repeat(100_001)}0]}`, /more than 100000 values/],
};

for (const protocol of IDS) {
  describe(`${protocol}: bodies and headers`, () => {
    for (const [name, [body, words]] of Object.entries(BODIES)) {
      test(`a body of ${name}`, async () => {
        const { error } = assertRefused(protocol, await send(protocol, { body }), INVALID);
        assert.match(error.message, words);
      });
    }

    test('a body over the limit, its length announced or not', async () => {
      const body = JSON.stringify({ x: 'y'.repeat(300 * 1024) });
      const expected: Expected = {
        chat: [413, 'payload_too_large'],
        messages: [413, 'request_too_large'],
        generate: [400, 'INVALID_ARGUMENT'],
      };
      const headers = { ...JSON_TYPE, ...HEADERS[protocol] };
      const lengths = { 'content-length': String(body.length), 'transfer-encoding': 'chunked' };
      for (const [name, value] of Object.entries(lengths)) {
        const response = await send(protocol, { body, headers: { ...headers, [name]: value } });
        assert.match(assertRefused(protocol, response, expected).error.message, /larger than 262144 bytes/);
      }
    });

    const media: Expected = {
      chat: [415, 'unsupported_media_type'],
      messages: [415, 'invalid_request_error'],
      generate: [400, 'INVALID_ARGUMENT'],
    };
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      test(`content type ${type}`, async () => {
        const response = await send(protocol, { headers: { ...HEADERS[protocol], 'content-type': type } });
        assert.match(assertRefused(protocol, response, media).error.message, /application\/json/);
      });
    }

    test('a compressed body', async () => {
      const headers = { ...JSON_TYPE, ...HEADERS[protocol], 'content-encoding': 'gzip' };
      const response = await send(protocol, { headers, body: gzipSync('{}') });
      assert.match(assertRefused(protocol, response, media).error.message, /uncompressed/);
    });

    for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/vnd.api+json']) {
      test(`content type ${type} is taken`, async () => {
        const response = await send(protocol, { headers: { ...HEADERS[protocol], 'content-type': type } });
        assert.equal(response.status, 200, response.text);
      });
    }

    test('a method that is not served (405)', async () => {
      // A name that ends like a method could be a model's, so that GET is a look into the catalog.
      for (const method of protocol === 'generate' ? ['PUT', 'DELETE'] : ['GET', 'PUT', 'DELETE', 'PATCH']) {
        const response = await send(protocol, { method, body: undefined });
        assert.equal(response.status, 405);
        assert.match(response.headers.allow ?? '', /POST/);
        errorName(protocol, JSON.parse(response.text));
      }
    });

    test('14: every response carries a request id, a good one too', async () => {
      const response = await send(protocol);
      assert.equal(response.status, 200);
      assert.match(String(response.headers[protocol === 'messages' ? 'request-id' : 'x-request-id']), /^req_/);
    });
  });
}

/** What is wrong with a field, where the protocol has it: the body's change, the path that the response names, its words. */
type Fields = [change: Json, param: string, words: RegExp][];

const user = (content: Json): Json => ({ messages: [{ role: 'user', content }] });
const tool = (definition: Json): Json => ({ tools: [{ type: 'function', function: definition }] });
const config = (generationConfig: Json): Json => ({ generationConfig });
const parts = (...list: Json[]): Json => ({ contents: [{ role: 'user', parts: list }] });

const FIELDS: Record<ProtocolId, Fields> = {
  chat: [
    [{ model: undefined }, 'model', /required/],
    [{ model: 7 }, 'model', /string/],
    [{ messages: undefined }, 'messages', /required/],
    [{ messages: [] }, 'messages', /empty/],
    [{ messages: 'hi' }, 'messages', /array/],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role', /one of .*user/],
    [{ messages: [{ content: 'x' }] }, 'messages[0].role', /required/],
    [{ messages: [{ role: 'user' }] }, 'messages[0].content', /required/],
    [{ messages: [{ role: 'user', content: 'a' }, 'b'] }, 'messages[1]', /object/],
    [user(5), 'messages[0].content', /string|array/],
    [user([{ text: 'x' }]), 'messages[0].content[0].type', /required/],
    [user([{ type: 'text', text: 5 }]), 'messages[0].content[0].text', /string/],
    [
      user([
        { type: 'text', text: 'x' },
        { type: 'image_url', image_url: {} },
      ]),
      'messages[0].content[1].image_url.url',
      /required/,
    ],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].tool_call_id', /required/],
    [{ temperature: 2.1 }, 'temperature', /between 0 and 2/],
    [{ temperature: -0.1 }, 'temperature', /between 0 and 2/],
    [{ temperature: '1' }, 'temperature', /number between 0 and 2/],
    [{ frequency_penalty: 2.5 }, 'frequency_penalty', /between -2 and 2/],
    [{ presence_penalty: -2.5 }, 'presence_penalty', /between -2 and 2/],
    [{ max_tokens: 0 }, 'max_tokens', /at least 1/],
    [{ max_tokens: 1.5 }, 'max_tokens', /integer/],
    [{ max_completion_tokens: '10' }, 'max_completion_tokens', /integer/],
    [{ stream: 'yes' }, 'stream', /true or false/],
    [{ stop: 5 }, 'stop', /string|array/],
    [{ n: 0 }, 'n', /between 1 and 128/],
    [{ tools: {} }, 'tools', /array/],
    [tool({ parameters: {} }), 'tools[0].function.name', /required/],
    [tool({ name: 'x', parameters: 'y' }), 'tools[0].function.parameters', /object/],
    [{ tool_choice: { type: 'function' } }, 'tool_choice.function', /required/],
    [{ response_format: { type: 'yaml' } }, 'response_format.type', /json_schema/],
    [{ response_format: 'json' }, 'response_format', /object/],
    [{ provider: 'openai' }, 'provider', /object/],
  ],
  messages: [
    [{ model: undefined }, 'model', /required/],
    [{ max_tokens: undefined }, 'max_tokens', /required/],
    [{ max_tokens: -1 }, 'max_tokens', /at least 0/],
    [{ max_tokens: '10' }, 'max_tokens', /integer/],
    [{ messages: undefined }, 'messages', /required/],
    [{ messages: [] }, 'messages', /empty/],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].role', /user/],
    [{ messages: [{ role: 'user', content: 7 }] }, 'messages[0].content', /string|array/],
    [user([{ type: 'text' }]), 'messages[0].content[0].text', /required/],
    [user([{ type: 'image' }]), 'messages[0].content[0].source', /required/],
    [
      user([{ type: 'image', source: { type: 'base64', data: 'AA==' } }]),
      'messages[0].content[0].source.media_type',
      /required/,
    ],
    [user([{ type: 'image', source: { type: 'ftp', url: 'x' } }]), 'messages[0].content[0].source.type', /base64/],
    [user([{ type: 'tool_result', content: 'x' }]), 'messages[0].content[0].tool_use_id', /required/],
    [user([{ type: 'tool_use', id: 'x', name: 'y', input: {} }]), 'messages[0].content[0].type', /one of/],
    [
      { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'x', name: 'y', input: 'z' }] }] },
      'messages[0].content[0].input',
      /object/,
    ],
    [{ system: 5 }, 'system', /string|array/],
    [{ temperature: 1.1 }, 'temperature', /between 0 and 1/],
    [{ temperature: -1 }, 'temperature', /between 0 and 1/],
    [{ stream: 1 }, 'stream', /true or false/],
    [{ tools: [{ name: 'x' }] }, 'tools[0].input_schema', /required/],
    [{ tools: [{ input_schema: {} }] }, 'tools[0].name', /required/],
    [{ tool_choice: 'auto' }, 'tool_choice', /object/],
    [{ tool_choice: { type: 'tool' } }, 'tool_choice.name', /required/],
    [{ stop_sequences: 'x' }, 'stop_sequences', /array/],
  ],
  generate: [
    [{ contents: undefined }, 'contents', /required/],
    [{ contents: [] }, 'contents', /empty/],
    [{ contents: [{ role: 'user' }] }, 'contents[0].parts', /required/],
    [{ contents: [{ role: 'assistant', parts: [] }] }, 'contents[0].role', /model/],
    [parts({ text: 5 }), 'contents[0].parts[0].text', /string/],
    [parts({ text: 'x' }, { inline_data: { data: 'AA==' } }), 'contents[0].parts[1].inlineData.mimeType', /required/],
    [parts({ inlineData: { mimeType: 'image/png' } }), 'contents[0].parts[0].inlineData.data', /required/],
    [parts({ fileData: {} }), 'contents[0].parts[0].fileData.fileUri', /required/],
    [parts({ functionCall: { name: 'x', args: [] } }), 'contents[0].parts[0].functionCall.args', /object/],
    [config({ maxOutputTokens: 0 }), 'generationConfig.maxOutputTokens', /at least 1/],
    [config({ stopSequences: 'x' }), 'generationConfig.stopSequences', /array/],
    [config('x'), 'generationConfig', /object/],
    [{ generation_config: { candidate_count: 0 } }, 'generationConfig.candidateCount', /at least 1/],
    [{ tools: [{ functionDeclarations: [{}] }] }, 'tools[0].functionDeclarations[0].name', /required/],
  ],
};

/** Values of which only an upstream knows whether it takes them: relayed as they are, refused on the way to another protocol. */
const VALUES: Record<ProtocolId, [change: Json, param: string, words: RegExp][]> = {
  chat: [
    [
      user([{ type: 'image_url', image_url: { url: 'https://x.example/y.png', detail: 'huge' } }]),
      'messages[0].content[0].image_url.detail',
      /low/,
    ],
    [{ top_p: 1.5 }, 'top_p', /between 0 and 1/],
    [{ stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop', /at most 4/],
    [tool({ name: 'has space' }), 'tools[0].function.name', /letters, digits/],
    [{ tool_choice: 'maybe' }, 'tool_choice', /one of|auto/],
    [{ top_logprobs: 21, logprobs: true }, 'top_logprobs', /between 0 and 20/],
  ],
  messages: [
    [{ top_p: 2 }, 'top_p', /between 0 and 1/],
    [{ top_k: 0.5 }, 'top_k', /integer/],
    [{ top_k: -1 }, 'top_k', /at least 0/],
    [{ thinking: { type: 'enabled', budget_tokens: 10 } }, 'thinking.budget_tokens', /at least 1024/],
  ],
  generate: [
    [config({ temperature: 3 }), 'generationConfig.temperature', /between 0 and 2/],
    [config({ topP: -1 }), 'generationConfig.topP', /between 0 and 1/],
    [config({ frequencyPenalty: 9 }), 'generationConfig.frequencyPenalty', /between -2 and 2/],
  ],
};

const OTHERS: Record<ProtocolId, string> = {
  chat: MODELS.messages,
  messages: MODELS.chat,
  generate: MODELS.chat,
};

for (const protocol of IDS) {
  describe(`${protocol}: values`, () => {
    for (const [change, param, words] of VALUES[protocol]) {
      const body = (model: string) => JSON.stringify({ ...question(protocol, model, 'hi'), ...change });

      test(`${param} is its upstream's affair: ${JSON.stringify(change)}`, async () => {
        const response = await send(protocol, { body: body(MODELS[protocol]) });
        assert.equal(response.status, 200, response.text);
        for (const [name, value] of Object.entries(change)) assert.deepEqual(upstream.calls[0]?.body[name], value);
      });

      test(`${param} is refused on the way to another protocol: ${JSON.stringify(change)}`, async () => {
        const path = PATHS[protocol](OTHERS[protocol], false);
        const refused = assertRefused(protocol, await send(protocol, { path, body: body(OTHERS[protocol]) }), INVALID);
        assert.equal(paramOf(protocol, refused), param, refused.error.message);
        assert.match(refused.error.message, words);
      });
    }
  });
}

for (const protocol of IDS) {
  describe(`${protocol}: fields`, () => {
    for (const [change, param, words] of FIELDS[protocol]) {
      test(`${param}: ${JSON.stringify(change)}`, async () => {
        const body = JSON.stringify({ ...question(protocol, MODELS[protocol], 'hi'), ...change });
        const refused = assertRefused(protocol, await send(protocol, { body }), INVALID);
        assert.equal(paramOf(protocol, refused), param, refused.error.message);
        assert.match(refused.error.message, words);
        assert.ok(refused.error.message.includes(param), refused.error.message);
      });
    }
  });

  describe(`${protocol}: keys and models`, () => {
    test('4: a missing or invalid key gives 401', async () => {
      const version = { ...JSON_TYPE, 'anthropic-version': '2023-06-01' };
      assertRefused(protocol, await send(protocol, { headers: version }), NO_KEY);
      for (const [name, value] of Object.entries(HEADERS[protocol])) {
        if (!value.includes(KEY)) continue;
        for (const wrong of ['x', `${KEY}x`, KEY.slice(0, -1), '']) {
          const headers = { ...version, [name]: value.replace(KEY, wrong) };
          assertRefused(protocol, await send(protocol, { headers }), NO_KEY);
        }
      }
    });

    test('a bad key is told before a bad body', async () => {
      assertRefused(protocol, await send(protocol, { headers: JSON_TYPE, body: '{' }), NO_KEY);
    });

    const unknown = ['nobody/m', 'a/none', 'none', 'a/', '/m', 'nobody'];
    test('13: an unknown model or provider gives 404', async () => {
      for (const model of protocol === 'generate' ? ['nobody/m', 'a/none', 'none'] : unknown) {
        const body = JSON.stringify(question(protocol, model, 'hi'));
        const response = await send(protocol, { path: PATHS[protocol](model, false), body });
        const refused = assertRefused(protocol, response, UNKNOWN_MODEL);
        assert.ok(refused.error.message.includes(model.split('/')[0]), refused.error.message);
      }
    });
  });
}

/** The version that a messages client must name stays beside each credential. */
const VERSION = { 'anthropic-version': '2023-06-01' };
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

describe('credentials', () => {
  const accepted: [ProtocolId, string, Record<string, string>, string?][] = [
    ['chat', '2: a bearer token', bearer(KEY)],
    ['chat', '2: a bearer token in small letters', { authorization: `bearer ${KEY}` }],
    ['chat', '2: api-key', { 'api-key': KEY }],
    ['messages', '1: x-api-key', { 'x-api-key': KEY }],
    ['messages', '1: a bearer token', bearer(KEY)],
    ['messages', '1: the same key twice', { 'x-api-key': KEY, ...bearer(KEY) }],
    ['generate', '2: x-goog-api-key', { 'x-goog-api-key': KEY }],
    ['generate', '2: x-gen-api-key', { 'x-gen-api-key': KEY }],
    ['generate', '2: a bearer token', bearer(KEY)],
    ['generate', '2: the query', {}, `?key=${KEY}`],
  ];
  for (const [protocol, name, credential, query = ''] of accepted) {
    test(`${protocol} takes ${name}`, async () => {
      const path = PATHS[protocol](MODELS[protocol], false) + query;
      const response = await send(protocol, { path, headers: { ...JSON_TYPE, ...VERSION, ...credential } });
      assert.equal(response.status, 200, response.text);
    });
  }

  const refused: [ProtocolId, string, Record<string, string>, string?][] = [
    ['chat', 'x-api-key', { 'x-api-key': KEY }],
    ['chat', 'the query', {}, `?key=${KEY}`],
    ['chat', 'basic authentication', { authorization: `Basic ${KEY}` }],
    ['messages', 'a good bearer token beside a wrong x-api-key', { 'x-api-key': 'sk-wrong', ...bearer(KEY) }],
    ['messages', 'the query', {}, `?key=${KEY}`],
    ['generate', 'x-api-key', { 'x-api-key': KEY }],
  ];
  for (const [protocol, name, credential, query = ''] of refused) {
    test(`${protocol} does not take ${name}`, async () => {
      const path = PATHS[protocol](MODELS[protocol], false) + query;
      const response = await send(protocol, { path, headers: { ...JSON_TYPE, ...VERSION, ...credential } });
      assertRefused(protocol, response, NO_KEY);
    });
  }

  test('3: a key in the query is in no line of the log', async () => {
    await send('generate', { path: `${PATHS.generate(MODELS.generate, false)}?key=${KEY}`, headers: JSON_TYPE });
    await send('generate', { path: `${PATHS.generate('c/none', false)}?key=${KEY}`, headers: JSON_TYPE });
    assert.ok(!JSON.stringify(gateway.log).includes(KEY));
  });
});

describe('messages: versions and queries', () => {
  const key = { ...JSON_TYPE, 'x-api-key': KEY };

  test('5: both versions, under both names', async () => {
    for (const name of ['anthropic-version', 'msg-protocol-version']) {
      for (const version of ['2023-06-01', '2026-10-21']) {
        assert.equal((await send('messages', { headers: { ...key, [name]: version } })).status, 200);
      }
    }
  });

  test('5: a missing or unknown version gives 400', async () => {
    for (const headers of [key, { ...key, 'anthropic-version': '2020-01-01' }, { ...key, 'anthropic-version': '' }]) {
      const { error } = assertRefused('messages', await send('messages', { headers }), INVALID);
      assert.match(error.message, /anthropic-version.*2023-06-01/);
    }
  });

  test('6: ?beta=true and unknown parameters are ignored; 11: v1 may be left out', async () => {
    for (const path of ['/anthropic/v1/messages?beta=true&x=%zz', '/anthropic/messages', '/anthropic/v1/messages/']) {
      assert.equal((await send('messages', { path })).status, 200, path);
    }
  });
});

describe('paths of generate content', () => {
  const good = [
    '/gemini/v1beta/models/c/m:generateContent',
    '/gemini/v1/models/c/m:generateContent',
    '/gemini/v1beta1/publishers/c/models/m:generateContent',
    '/gemini/v1beta/c/m:generateContent',
    '/gemini/v1/c/m:generateContent',
    '/gemini/v1beta/models/c%2Fm:generateContent',
    '/gemini/v1beta/models%2Fc%2Fm:generateContent',
    '/gemini/v1beta/models/c/m%3AgenerateContent',
    '/gemini/v1beta/models/c/m:generateContent?alt=json&$alt=json&prettyPrint=false',
  ];
  for (const path of good) {
    test(`7, 8: ${path}`, async () => {
      const response = await send('generate', { path });
      assert.equal(response.status, 200, response.text);
      assert.equal(upstream.calls[0]?.path, '/v1beta/models/m:generateContent');
    });
  }

  test('9: the method stands after the last colon', async () => {
    const response = await send('generate', { path: '/gemini/v1beta/models/c/m:free:generateContent' });
    assert.equal(response.status, 200, response.text);
    assert.match(upstream.calls[0]?.path ?? '', /\/models\/m(:|%3A)free:generateContent$/);
  });

  test('12: an id with more slashes', async () => {
    for (const path of ['c/org/sub/m', 'c%2Forg%2Fsub%2Fm', 'c/org%2Fsub/m']) {
      assert.equal((await send('generate', { path: `/gemini/v1beta/models/${path}:generateContent` })).status, 200);
    }
    for (const protocol of ['chat', 'messages'] as const) {
      const model = MODELS[protocol].replace('/m', '/org/sub/m');
      const response = await send(protocol, { body: JSON.stringify(question(protocol, model, 'hi')) });
      assert.equal(response.status, 200, response.text);
    }
  });

  test('a method that is not there is named, with those that are', async () => {
    const response = await send('generate', { path: '/gemini/v1beta/models/c/m:predict' });
    assertRefused('generate', response, { ...NOTHING_THERE, generate: [404, 'NOT_FOUND'] });
    assert.match(
      response.text,
      /\\"predict\\"; there are generateContent, streamGenerateContent, countTokens, embedContent, batchEmbedContents/,
    );
  });

  for (const path of ['/gemini/v1beta/models', '/gemini/v1beta/models/c/m']) {
    test(`${path} is only there to be looked at`, async () => {
      const response = await send('generate', { path });
      assertRefused('generate', response, { ...NOTHING_THERE, generate: [405, 'INVALID_ARGUMENT'] });
      assert.equal(response.headers.allow, 'GET, HEAD');
    });
  }

  const bad = [
    '/gemini/v1beta/:generateContent',
    '/gemini/v2/models/c/m:generateContent',
    '/gemini',
    '/gemini/v1beta/models/c%252Fm:generateContent',
    '/gemini/v1beta/models/c/../c/m:generateContent',
    '/gemini/v1beta/models/c/%2e%2e/c/m:generateContent',
    '/gemini/v1beta/models/c%2F..%2Fm:generateContent',
    '/gemini/v1beta/models/c//m:generateContent',
    '/gemini/v1beta/models/c/m%:generateContent',
  ];
  for (const path of bad) {
    test(`10: ${path} is nothing`, async () => {
      assertRefused('generate', await send('generate', { path }), NOTHING_THERE);
    });
  }
});

describe('paths that are nothing (404)', () => {
  const paths: [string, ProtocolId][] = [
    ['/nothing', 'chat'],
    ['/v1', 'chat'],
    ['/v1/nothing', 'chat'],
    ['/v1/chat/completions/more', 'chat'],
    ['/v1/../v1/chat/completions', 'chat'],
    ['/v1%2Fchat%2Fcompletions', 'chat'],
    ['//v1/chat/completions', 'chat'],
    ['/anthropic', 'messages'],
    ['/anthropic/v1/complete', 'messages'],
    ['/anthropic/v1/messages/more', 'messages'],
    ['/anthropic/../anthropic/v1/messages', 'messages'],
  ];
  for (const [path, protocol] of paths) {
    test(path, async () => {
      assertRefused(protocol, await send(protocol, { path }), NOTHING_THERE);
    });
  }
});
