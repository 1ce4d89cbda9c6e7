/** Vertex AI: addresses, signed tokens, bodies and headers of its three protocols, through a whole gateway. */

import assert from 'node:assert/strict';
import { createVerify, generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { createSignedTokens } from '../../src/providers/vertex.ts';
import {
  answerEvents,
  answerJson,
  ask,
  HEADERS,
  PATHS,
  type ProtocolId,
  post,
  question,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';
import { recordOf } from './usage-client.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const EMAIL = 'gateway@my-project.iam.gserviceaccount.com';
const ACCOUNT = {
  type: 'service_account',
  client_email: EMAIL,
  private_key_id: 'key-1',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
};
const BASE = '/v1/projects/my-project/locations/global';
const REGION = '/v1/projects/my-project/locations/europe-west1';

const CLAUDE: Json = {
  ...{ id: 'msg_vrtx_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', stop_reason: 'end_turn' },
  stop_sequence: null,
  content: [{ type: 'text', text: 'Hello.' }],
  usage: { input_tokens: 3, output_tokens: 2 },
};
const GEMINI: Json = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  modelVersion: 'gemini-2.5-flash',
};
const CHAT: Json = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'meta/llama-4-maverick-17b-128e-instruct-maas' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};
const EVENTS = [
  { type: 'message_start', message: { ...CLAUDE, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join('');

const PIXEL = 'iVBORw0KGgo=';
const PICTURE_URL = 'https://example.com/picture.png';

const VECTOR = [0.6, 0.8];
const PREDICTION = { embeddings: { values: VECTOR, statistics: { truncated: false, token_count: 4 } } };
const CONTENT_EMBEDDING = { embedding: { values: VECTOR }, usageMetadata: { promptTokenCount: 4 }, truncated: false };

const COUNTED_TOKENS = 11;
const CLAUDE_COUNTED = ['anthropic_version', 'messages', 'system', 'tools'];
const GEMINI_COUNTED = ['contents', 'generationConfig', 'systemInstruction', 'tools'];

/** Counts a body, or refuses a member that a count does not have, as Vertex AI does. */
function answerCount(response: ServerResponse, body: Json, known: string[]): void {
  const unknown = Object.keys(body).find((name) => !known.includes(name));
  const message = `Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`;
  if (unknown !== undefined) answerJson(response, { error: { code: 400, message, status: 'INVALID_ARGUMENT' } }, 400);
  else if (known.includes('contents'))
    answerJson(response, { totalTokens: COUNTED_TOKENS, totalBillableCharacters: 40 });
  else answerJson(response, { input_tokens: COUNTED_TOKENS });
}

/** Members of a body that Mistral's own SDK for Google Cloud sends, besides those of samplings; others are refused. */
const MISTRAL_MEMBERS = ['model', 'messages', 'max_tokens', 'random_seed', 'stream', 'stream_options', 'tools'];

function answerMistral(response: ServerResponse, body: Json): void {
  const unknown = Object.keys(body).find((name) => !MISTRAL_MEMBERS.includes(name));
  if (unknown !== undefined || body.model !== 'mistral-medium-3')
    answerJson(response, { object: 'error', message: `extra_forbidden: ${unknown}`, code: 3051 }, 422);
  else if (body.stream) {
    const { id, created, model } = CHAT;
    const chunk = { id, created, model, object: 'chat.completion.chunk', usage: CHAT.usage };
    const choices = [{ index: 0, delta: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }];
    answerEvents(response, `data: ${JSON.stringify({ ...chunk, choices })}\n\ndata: [DONE]\n\n`);
  } else answerJson(response, CHAT);
}

let upstream: TestUpstream;
let gateway: TestGateway;
/** Answers instead of that of the address. */
let failure: { status: number; body: unknown } | undefined;

before(async () => {
  upstream = await startUpstream(({ path, body }, response) => {
    if (failure) answerJson(response, failure.body, failure.status);
    else if (path.endsWith('/count-tokens:rawPredict')) answerCount(response, body, ['model', ...CLAUDE_COUNTED]);
    else if (path.endsWith(':predict')) answerJson(response, { predictions: body.instances.map(() => PREDICTION) });
    else if (path.endsWith(':embedContent')) answerJson(response, CONTENT_EMBEDDING);
    else if (path.endsWith(':countTokens')) answerCount(response, body, GEMINI_COUNTED);
    else if (path.includes('/mistralai/')) answerMistral(response, body);
    else if (path.endsWith(':streamRawPredict')) answerEvents(response, EVENTS);
    else if (path.endsWith('alt=sse')) answerEvents(response, `data: ${JSON.stringify(GEMINI)}\n\n`);
    else if (path.endsWith(':rawPredict')) answerJson(response, CLAUDE);
    else answerJson(response, path.includes('/openapi/') ? CHAT : GEMINI);
  });
  gateway = await startTestGateway(
    `
providers:
  vertex:
    base_url: ${upstream.url}${BASE}
    api_key: '${JSON.stringify(ACCOUNT)}'
    models: [{ id: "claude-sonnet-4-5@20250929" }, { id: meta/llama-4-maverick-17b-128e-instruct-maas }, { id: mistral-medium-3 }, { id: "1234567890" }, { id: text-embedding-005, output_modalities: [embeddings], pricing: { prompt: "0.0000001" } }]
  region: { type: vertex, base_url: "${upstream.url}${REGION}", api_key: key, models: [{ id: "claude-sonnet-4-5@20250929" }, { id: "claude-opus-4-6@default" }] }
  elsewhere: { type: vertex, base_url: "${upstream.url}${BASE.replace('global', 'us-central1')}", api_key: key, models: [{ id: "claude-sonnet-4-5@20250929" }] }
  express: { type: vertex, base_url: "${upstream.url}/v1", api_key: express-key }
`,
    { fetchBytes: async () => ({ bytes: Buffer.from(PIXEL, 'base64'), type: 'image/png' }) },
  );
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

const last = () => upstream.calls.at(-1) ?? assert.fail('nothing was asked');

async function send(protocol: ProtocolId, model: string, more: Json = {}, headers: Record<string, string> = {}) {
  const body = { ...question(protocol, model, 'Hi', more.stream), ...more };
  return post(gateway.url + PATHS[protocol](model, false), body, { ...HEADERS[protocol], ...headers });
}

function claimsOf(authorization = ''): { header: Json; claims: Json; isSigned: boolean } {
  const [head = '', body = '', signature = ''] = authorization.replace(/^Bearer /, '').split('.');
  const part = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString()) as Json;
  const isSigned = createVerify('RSA-SHA256').update(`${head}.${body}`).verify(publicKey, signature, 'base64url');
  return { header: part(head), claims: part(body), isSigned };
}

describe('Vertex AI', () => {
  const CLAUDE_ID = 'vertex/claude-sonnet-4-5@20250929';
  const LLAMA = 'vertex/meta/llama-4-maverick-17b-128e-instruct-maas';
  const MISTRAL = 'vertex/mistral-medium-3';
  const CLAUDE_PATH = `${BASE}/publishers/anthropic/models/claude-sonnet-4-5@20250929`;
  const GEMINI_PATH = `${BASE}/publishers/google/models/gemini-2.5-flash`;

  const ADDRESSES: [ProtocolId, model: string, stream: boolean, path: string][] = [
    ['generate', 'vertex/gemini-2.5-flash', false, `${GEMINI_PATH}:generateContent`],
    ['generate', 'vertex/gemini-2.5-flash', true, `${GEMINI_PATH}:streamGenerateContent?alt=sse`],
    ['chat', 'vertex/gemini-2.5-flash', false, `${GEMINI_PATH}:generateContent`],
    ['generate', 'vertex/1234567890', false, `${BASE}/endpoints/1234567890:generateContent`],
    ['messages', CLAUDE_ID, false, `${CLAUDE_PATH}:rawPredict`],
    ['messages', CLAUDE_ID, true, `${CLAUDE_PATH}:streamRawPredict`],
    ['chat', CLAUDE_ID, true, `${CLAUDE_PATH}:streamRawPredict`],
    ['chat', LLAMA, false, `${BASE}/endpoints/openapi/chat/completions`],
    ['messages', LLAMA, false, `${BASE}/endpoints/openapi/chat/completions`],
    ['chat', MISTRAL, false, `${BASE}/publishers/mistralai/models/mistral-medium-3:rawPredict`],
    ['chat', MISTRAL, true, `${BASE}/publishers/mistralai/models/mistral-medium-3:streamRawPredict`],
    ['messages', MISTRAL, false, `${BASE}/publishers/mistralai/models/mistral-medium-3:rawPredict`],
    ['generate', 'express/gemini-2.5-flash', false, '/v1/publishers/google/models/gemini-2.5-flash:generateContent'],
  ];
  for (const [protocol, model, stream, path] of ADDRESSES) {
    test(`${protocol} to ${model}, ${stream ? 'streamed' : 'whole'}`, async () => {
      const response = await ask(gateway, { protocol, model, text: 'Hi', stream });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      assert.match(text, /Hello\./);
      assert.ok(text.includes(model), 'the answer has the name that the client asked for');
      assert.equal(last().path, path);
    });
  }

  test('a service account signs its tokens, and one is used until shortly before its end', async () => {
    await ask(gateway, { protocol: 'generate', model: 'vertex/gemini-2.5-flash', text: 'Hi' });
    const { authorization } = last().headers;
    const { header, claims, isSigned } = claimsOf(authorization);
    assert.ok(isSigned);
    assert.deepEqual(header, { alg: 'RS256', typ: 'JWT', kid: 'key-1' });
    assert.deepEqual([claims.iss, claims.sub, claims.aud], [EMAIL, EMAIL, undefined]);
    assert.equal(claims.scope, 'https://www.googleapis.com/auth/cloud-platform');
    assert.equal(claims.exp - claims.iat, 3600);
    let now = 1_000_000_000;
    const pem = { email: EMAIL, keyId: 'key-1', privateKey: String(ACCOUNT.private_key) };
    const tokens = createSignedTokens(pem, () => now);
    const first = tokens.token();
    now += 54 * 60_000;
    assert.equal(tokens.token(), first);
    now += 2 * 60_000;
    assert.equal(claimsOf(`Bearer ${tokens.token()}`).claims.iat, now / 1000);
    now -= 3_600_000;
    assert.equal(claimsOf(`Bearer ${tokens.token()}`).claims.iat, now / 1000, 'the clock was set back');
  });

  test("Mistral's models get the names of fields that Mistral has", async () => {
    const response = await send('chat', MISTRAL, {
      max_completion_tokens: 9,
      max_tokens: undefined,
      seed: 1,
      user: 'u',
    });
    assert.equal(response.status, 200, await response.clone().text());
    const messages = [{ role: 'user', content: 'Hi' }];
    assert.deepEqual(last().body, { model: 'mistral-medium-3', messages, max_tokens: 9, random_seed: 1 });
  });

  test('a key of express mode is a header', async () => {
    await ask(gateway, { protocol: 'generate', model: 'express/gemini-2.5-flash', text: 'Hi' });
    assert.deepEqual([last().headers['x-goog-api-key'], last().headers.authorization], ['express-key', undefined]);
  });

  test('Claude: the model is in the address, and the version in the body', async () => {
    assert.equal((await send('messages', CLAUDE_ID, { stream: true })).status, 200);
    const { model, anthropic_version: version, stream } = last().body;
    assert.deepEqual([model, version, stream], [undefined, 'vertex-2023-10-16', true]);
    await send('messages', CLAUDE_ID, { anthropic_version: 'vertex-2026-10-21' });
    assert.equal(last().body.anthropic_version, 'vertex-2026-10-21');
    await ask(gateway, { protocol: 'chat', model: CLAUDE_ID, text: 'Hi' });
    assert.deepEqual([last().body.model, last().body.anthropic_version], [undefined, 'vertex-2023-10-16']);
  });

  test('Claude: betas that fail a request are named as dropped, one is renamed, others go on', async () => {
    const cases: [asked: string, sent: string | undefined, dropped: string | null][] = [
      ['interleaved-thinking-2025-05-14,new-2027-01-01', 'interleaved-thinking-2025-05-14,new-2027-01-01', null],
      ['advanced-tool-use-2025-11-20', 'tool-search-tool-2025-10-19', null],
      ['claude-code-20250219, context-1m-2025-08-07', 'context-1m-2025-08-07', 'anthropic-beta: claude-code-20250219'],
      ['oauth-2025-04-20', undefined, 'anthropic-beta: oauth-2025-04-20'],
    ];
    for (const [asked, sent, dropped] of cases) {
      const response = await send('messages', CLAUDE_ID, {}, { 'anthropic-beta': asked });
      assert.equal(response.status, 200);
      assert.equal(last().headers['anthropic-beta'], sent, asked);
      assert.equal(response.headers.get('x-polygate-dropped'), dropped);
    }
  });

  test('Claude: members whose beta fails a request are left out and named, and those that do not are sent', async () => {
    const scoped = { type: 'ephemeral', ttl: '1h', scope: 'global' };
    const result = {
      type: 'tool_result',
      tool_use_id: 't',
      content: [{ type: 'text', text: 'a', cache_control: scoped }],
    };
    const kept = { output_config: { effort: 'low' }, context_management: { edits: [] }, metadata: { user_id: 'u' } };
    const tool = { name: 'now', input_schema: { type: 'object' }, eager_input_streaming: true, strict: true };
    const response = await send('messages', CLAUDE_ID, {
      ...kept,
      system: [{ type: 'text', text: 'Be brief.', cache_control: scoped }],
      tools: [{ ...tool, cache_control: scoped }],
      messages: [{ role: 'user', content: [result] }],
      speed: 'fast',
      service_tier: 'standard_only',
    });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('x-polygate-dropped'), 'speed, service_tier, cache_control.scope');
    const cached = { type: 'ephemeral', ttl: '1h' };
    assert.deepEqual(last().body, {
      ...kept,
      max_tokens: 1000,
      system: [{ type: 'text', text: 'Be brief.', cache_control: cached }],
      tools: [{ ...tool, cache_control: cached }],
      messages: [
        { role: 'user', content: [{ ...result, content: [{ type: 'text', text: 'a', cache_control: cached }] }] },
      ],
      anthropic_version: 'vertex-2023-10-16',
    });
  });

  test('Gemini: calls and results have no ids, whichever protocol they come from', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'now', arguments: '{}' } };
    const messages = [
      { role: 'user', content: 'When?' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'noon' },
    ];
    assert.equal((await send('chat', 'vertex/gemini-2.5-flash', { messages })).status, 200);
    const contents = [
      { role: 'user', parts: [{ text: 'When?' }] },
      { role: 'model', parts: [{ functionCall: { id: 'a', name: 'now', args: {} } }] },
      { role: 'user', parts: [{ functionResponse: { id: 'a', name: 'now', response: { result: 'noon' } } }] },
    ];
    const translated = JSON.stringify(last().body.contents);
    assert.match(translated, /"functionCall".*"functionResponse"/);
    assert.doesNotMatch(translated, /"id"/);
    assert.equal((await send('generate', 'vertex/gemini-2.5-flash', { contents })).status, 200);
    assert.doesNotMatch(JSON.stringify(last().body.contents), /"id"/);
    assert.equal(JSON.stringify(last().body.contents[1].parts[0].functionCall), '{"name":"now","args":{}}');
    const spelled = [
      { parts: [{ text: 'Hi' }] },
      { role: 'model', parts: [{ function_call: { id: 'a', name: 'now' } }] },
    ];
    const more = { contents: spelled, service_tier: 'priority' };
    const response = await send('generate', 'vertex/gemini-2.5-flash', more);
    assert.deepEqual(last().body, {
      contents: [
        { role: 'user', parts: [{ text: 'Hi' }] },
        { role: 'model', parts: [{ function_call: { name: 'now' } }] },
      ],
    });
    assert.equal(response.headers.get('x-polygate-dropped'), 'service_tier');
  });

  test('Gemini: results are in the order of their calls, which alone says whose they are', async () => {
    const call = (id: string) => ({ functionCall: { id, name: 'now', args: { zone: id } } });
    const result = (id: string) => ({ functionResponse: { id, name: 'now', response: { zone: id } } });
    const contents = [
      { role: 'user', parts: [{ text: 'When?' }] },
      { role: 'model', parts: [call('a'), call('b'), call('c')] },
      { role: 'user', parts: [result('c'), { text: 'These.' }, result('a'), result('b')] },
    ];
    assert.equal((await send('generate', 'vertex/gemini-2.5-flash', { contents })).status, 200);
    const zones = last().body.contents[2].parts.map((part: Json) => part.functionResponse?.response.zone ?? part.text);
    assert.deepEqual(zones, ['a', 'These.', 'b', 'c']);
  });

  test('a picture by URL goes to Claude, which fetches none here, as its content, and to Gemini as its URL', async () => {
    const content = [
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url: PICTURE_URL } },
    ];
    const messages = [{ role: 'user', content }];
    assert.equal((await send('chat', CLAUDE_ID, { messages })).status, 200);
    const source = { type: 'base64', media_type: 'image/png', data: PIXEL };
    assert.deepEqual(last().body.messages[0].content[1], { type: 'image', source });
    assert.equal((await send('chat', 'vertex/gemini-2.5-flash', { messages })).status, 200);
    assert.equal(last().body.contents[0].parts[1].fileData.fileUri, PICTURE_URL);
  });

  const countByMessages = (model: string, more: Json = {}) => {
    const { max_tokens: _, ...body } = question('messages', model, 'How many?');
    return post(`${gateway.url}/anthropic/v1/messages/count_tokens`, { ...body, ...more }, HEADERS.messages);
  };

  test('tokens of Claude are estimated where Vertex AI does not count them: in other regions, and of an alias of a version', async () => {
    for (const model of ['elsewhere/claude-sonnet-4-5@20250929', 'region/claude-opus-4-6@default']) {
      const asked = upstream.calls.length;
      const response = await countByMessages(model);
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('x-polygate-estimated'), 'true');
      assert.ok(((await response.json()) as Json).input_tokens > 0);
      assert.equal(upstream.calls.length, asked);
    }
  });

  test('tokens of Claude are counted at global, and estimated where Vertex AI turns out not to count them', async (context) => {
    const counted = await countByMessages(CLAUDE_ID);
    assert.deepEqual(await counted.json(), { input_tokens: COUNTED_TOKENS });
    assert.equal(last().path, `${BASE}/publishers/anthropic/models/count-tokens:rawPredict`);
    context.after(() => {
      failure = undefined;
    });
    const message = 'Publisher Model `count-tokens` was not found.';
    failure = { status: 404, body: [{ error: { code: 404, message, status: 'NOT_FOUND' } }] };
    const response = await countByMessages(CLAUDE_ID);
    assert.deepEqual([response.status, response.headers.get('x-polygate-estimated')], [200, 'true']);
    assert.ok(((await response.json()) as Json).input_tokens > 0);
    failure = { status: 503, body: { error: { code: 503, message: 'Busy.', status: 'UNAVAILABLE' } } };
    assert.notEqual((await countByMessages(CLAUDE_ID)).status, 200);
  });

  test('tokens of Claude are counted in its regions, by a model of that name, for clients of each protocol', async () => {
    const model = 'region/claude-sonnet-4-5@20250929';
    const tools = [{ name: 'now', description: 'Time', input_schema: { type: 'object' } }];
    const more = { system: 'Be brief.', tools };
    const response = await countByMessages(model, more);
    assert.deepEqual(await response.json(), { input_tokens: COUNTED_TOKENS });
    assert.equal(response.headers.get('x-polygate-estimated'), null);
    assert.equal(last().path, `${REGION}/publishers/anthropic/models/count-tokens:rawPredict`);
    const { max_tokens: _, ...asked } = question('messages', 'claude-sonnet-4-5@20250929', 'How many?');
    assert.deepEqual(last().body, { ...asked, ...more, anthropic_version: 'vertex-2023-10-16' });
    const contents = [{ role: 'user', parts: [{ text: 'How many?' }] }];
    const url = `${gateway.url}/gemini/v1beta/models/${model}:countTokens`;
    const counted = await post(url, { contents }, HEADERS.generate);
    assert.deepEqual(await counted.json(), { totalTokens: COUNTED_TOKENS });
    assert.equal(last().path, `${REGION}/publishers/anthropic/models/count-tokens:rawPredict`);
    assert.equal(last().body.model, 'claude-sonnet-4-5@20250929');
  });

  test('tokens of Gemini are counted, and the request of a count has its members alone', async () => {
    const path = `${GEMINI_PATH}:countTokens`;
    const contents = [
      { parts: [{ text: 'When?' }] },
      { role: 'model', parts: [{ functionCall: { id: 'a', name: 'now', args: {} } }] },
      { role: 'user', parts: [{ functionResponse: { id: 'a', name: 'now', response: { result: 'noon' } } }] },
    ];
    const url = `${gateway.url}/gemini/v1beta/models/vertex/gemini-2.5-flash:countTokens`;
    const plain = await post(url, { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }, HEADERS.generate);
    const answer = (await plain.json()) as Json;
    assert.deepEqual([plain.status, answer.totalTokens, last().path], [200, COUNTED_TOKENS, path]);
    const systemInstruction = { parts: [{ text: 'Be brief.' }] };
    const whole = { contents, systemInstruction, safetySettings: [], toolConfig: {}, generationConfig: { topK: 2 } };
    const generateContentRequest = { model: 'models/vertex/gemini-2.5-flash', ...whole };
    assert.equal((await post(url, { generateContentRequest }, HEADERS.generate)).status, 200);
    assert.deepEqual(Object.keys(last().body).toSorted(), ['contents', 'generationConfig', 'systemInstruction']);
    assert.deepEqual(
      last().body.contents.map(({ role }: Json) => role),
      ['user', 'model', 'user'],
    );
    assert.doesNotMatch(JSON.stringify(last().body), /"id"/);
    const response = await countByMessages('vertex/gemini-2.5-flash', { system: 'Be brief.' });
    assert.deepEqual(await response.json(), { input_tokens: COUNTED_TOKENS });
    assert.equal(last().path, path);
    assert.match(JSON.stringify(last().body), /How many\?.*Be brief|Be brief.*How many\?/);
    assert.equal((await post(url.replace('vertex/', 'express/'), { contents }, HEADERS.generate)).status, 200);
    assert.equal(last().path, '/v1/publishers/google/models/gemini-2.5-flash:countTokens');
  });

  test("Google's errors keep their meaning in each protocol", async (context) => {
    context.after(() => {
      failure = undefined;
    });
    const error = {
      code: 400,
      message: 'Publisher Model is not available in us-central1.',
      status: 'INVALID_ARGUMENT',
    };
    for (const [model, body] of [
      [CLAUDE_ID, { error }],
      ['vertex/gemini-2.5-flash', { error }],
      [LLAMA, [{ error }]],
    ] as const) {
      failure = { status: 400, body };
      for (const protocol of ['chat', 'messages'] as const) {
        const response = await ask(gateway, { protocol, model, text: 'Hi' });
        assert.equal(response.status, 400);
        const text = await response.text();
        assert.match(text, /Publisher Model is not available in us-central1\./, model);
        if (protocol === 'messages') assert.match(text, /^\{"type":"error","error":\{"type":"invalid_request_error"/);
      }
    }
  });

  test('models of videos, which it does not serve, are not listed', async () => {
    const response = await fetch(`${gateway.url}/v1/models`, { headers: HEADERS.chat });
    const ids = ((await response.json()) as Json).data.map(({ id }: Json) => id) as string[];
    const own = ids.filter((id) => id.startsWith('vertex/'));
    for (const id of ['vertex/gemini-2.5-flash', 'vertex/gemini-embedding-001', CLAUDE_ID])
      assert.ok(own.includes(id), id);
    assert.deepEqual(
      own.filter((id) => /veo/.test(id)),
      [],
    );
  });

  test('embeddings are predictions: several texts, a purpose and dimensions, for clients of both protocols', async () => {
    const path = `${BASE}/publishers/google/models/text-embedding-005:predict`;
    const url = `${gateway.url}/v1/embeddings`;
    const asked = { model: 'vertex/text-embedding-005', input: ['one', 'two'], dimensions: 2, input_type: 'query' };
    const response = await post(url, { ...asked, encoding_format: 'float' }, HEADERS.chat);
    const answer = (await response.json()) as Json;
    assert.equal(response.status, 200, JSON.stringify(answer));
    assert.deepEqual(
      answer.data.map(({ embedding }: Json) => embedding),
      [VECTOR, VECTOR],
    );
    assert.deepEqual([answer.model, answer.usage.prompt_tokens], [asked.model, 8]);
    const record = await recordOf(gateway.url, response.headers.get('x-polygate-generation-id') ?? '');
    assert.ok(record.total_cost > 0);
    const instance = (content: string) => ({ content, task_type: 'RETRIEVAL_QUERY' });
    assert.equal(last().path, path);
    assert.deepEqual(last().body, {
      instances: [instance('one'), instance('two')],
      parameters: { outputDimensionality: 2 },
    });
    const single = { content: { parts: [{ text: 'one' }] }, taskType: 'RETRIEVAL_DOCUMENT', title: 'Page' };
    const gemini = `${gateway.url}/gemini/v1beta/models/vertex/gemini-embedding-001:embedContent`;
    const embedded = await post(gemini, single, HEADERS.generate);
    assert.deepEqual(((await embedded.json()) as Json).embedding.values, VECTOR);
    assert.equal(last().path, path.replace('text-embedding-005', 'gemini-embedding-001'));
    assert.deepEqual(last().body, {
      instances: [{ content: 'one', task_type: 'RETRIEVAL_DOCUMENT', title: 'Page' }],
    });
    const base64 = await post(
      url,
      { model: 'vertex/gemini-embedding-001', input: 'one', encoding_format: 'base64' },
      HEADERS.chat,
    );
    assert.equal(typeof ((await base64.json()) as Json).data[0].embedding, 'string');
  });

  test('newer embedding models embed one content, and several texts are refused before they are sent', async () => {
    const url = `${gateway.url}/v1/embeddings`;
    const body = { model: 'vertex/gemini-embedding-2', input: 'one', dimensions: 2 };
    const response = await post(url, body, HEADERS.chat);
    const answer = (await response.json()) as Json;
    assert.deepEqual([answer.data[0].embedding, answer.usage.prompt_tokens], [VECTOR, 4]);
    assert.equal(last().path, `${BASE}/publishers/google/models/gemini-embedding-2:embedContent`);
    assert.deepEqual(last().body, {
      content: { parts: [{ text: 'one' }], role: 'user' },
      embedContentConfig: { outputDimensionality: 2 },
    });
    const asked = upstream.calls.length;
    const several = await post(url, { ...body, input: ['one', 'two'] }, HEADERS.chat);
    assert.equal(several.status, 400);
    assert.match(await several.text(), /one text in a request/);
    assert.equal(upstream.calls.length, asked);
  });

  test('predictions that lack a vector are an error, not vectors of other texts', async (context) => {
    context.after(() => {
      failure = undefined;
    });
    failure = { status: 200, body: { predictions: [{ embeddings: { values: VECTOR } }] } };
    const body = { model: 'vertex/text-embedding-005', input: ['one', 'two'] };
    const response = await post(`${gateway.url}/v1/embeddings`, body, HEADERS.chat);
    assert.equal(response.status, 502);
  });

  test('signatures of reasoning are read by models of one family alone', () => {
    const { family = assert.fail } = (providerTypes.get('vertex') ?? assert.fail()).create({
      id: 'vertex',
      baseUrl: 'https://aiplatform.googleapis.com/v1',
    });
    assert.equal(family('claude-opus-4-6'), family('claude-sonnet-4-5@20250929'));
    assert.equal(family('gemini-2.5-pro'), family('gemini-2.5-flash'));
    const families = ['claude-opus-4-6', 'gemini-2.5-pro', 'gemini-3-pro', 'meta/llama-4-maas'].map((id) => family(id));
    assert.equal(new Set(families).size, families.length);
  });

  test('a key that is none is refused, and not shown', async () => {
    const broken = { ...ACCOUNT, private_key: 'no PEM' };
    for (const [key, message] of [
      ['{"type":"authorized_user","refresh_token":"hidden"}', /must be that of a service account/],
      [JSON.stringify(broken), /private_key in a key of Vertex AI is no RSA key in PEM/],
    ] as const) {
      const yaml = `providers: { vertex: { base_url: "${upstream.url}${BASE}", api_key: '${key}' } }`;
      await assert.rejects(startTestGateway(yaml), (problem: Error) => {
        assert.match(problem.message, message);
        assert.doesNotMatch(problem.message, /hidden|no PEM/);
        return true;
      });
    }
  });
});
