/** Amazon Bedrock: addresses, signatures, bodies, streams and errors, through a whole gateway. The vendor's own package verifies the signatures. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import {
  type Answerer,
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
  type UpstreamCall,
} from '../gateway/harness.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { awsChunk, awsException } from '../transport/aws-message.ts';
import { authorizationOfVendor } from './aws-signer.ts';

const KEYS = {
  accessKeyId: `AKIA${'TESTKEYOFNOBODY0'}`,
  secretAccessKey: `secret/+${randomUUID()}`,
  sessionToken: 'session/token==',
};
const PROFILE = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const ARN = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123';
const GPT = 'us.openai.gpt-5.6-sol';

const PIXEL = 'iVBORw0KGgo=';

const CLAUDE: Json = {
  ...{ id: 'msg_bdrk_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5-20250929' },
  ...{ stop_reason: 'end_turn', stop_sequence: null },
  content: [{ type: 'text', text: 'Hello.' }],
  usage: { input_tokens: 3, output_tokens: 2 },
};
const CHAT: Json = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'openai.gpt-oss-120b-1:0' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};
const RESPONSE: Json = {
  ...{ id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: GPT },
  output: [
    {
      ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
      content: [{ type: 'output_text', text: 'Hello.', annotations: [] }],
    },
  ],
  usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
};
const EVENTS: Json[] = [
  { type: 'message_start', message: { ...CLAUDE, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
  { type: 'message_stop', 'amazon-bedrock-invocationMetrics': { inputTokenCount: 3, outputTokenCount: 2 } },
];

const wellAnswered: Answerer = ({ path }, response) => {
  if (path.endsWith('/invoke-with-response-stream')) {
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    response.end(Buffer.concat(EVENTS.map(awsChunk)));
  } else if (path.endsWith('/responses')) answerJson(response, RESPONSE);
  else answerJson(response, /\/(invoke|messages)$/.test(path) ? CLAUDE : CHAT);
};

let answer: Answerer = wellAnswered;
let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream((call, response) => answer(call, response));
  const signed = [KEYS.accessKeyId, KEYS.secretAccessKey, KEYS.sessionToken].join(':');
  const models = `[{ id: "${PROFILE}" }, { id: openai.gpt-oss-120b-1:0 }, { id: ${GPT} }, { id: "${ARN}", rules: { protocols: [messages] } }]`;
  gateway = await startTestGateway(
    `
providers:
  bedrock: { base_url: "${upstream.url}", api_key: "${signed}", models: ${models} }
  keyed: { type: bedrock, base_url: "${upstream.url}/openai/v1/", api_key: ABSKtest, models: ${models} }
`,
    { fetchBytes: async () => ({ bytes: Buffer.from(PIXEL, 'base64'), type: 'image/png' }) },
  );
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

const last = () => upstream.calls.at(-1) ?? assert.fail('nothing was asked');

function send(protocol: ProtocolId, model: string, more: Json = {}, headers: Record<string, string> = {}) {
  const body = { ...question(protocol, model, 'Hi', more.stream), ...more };
  return post(gateway.url + PATHS[protocol](model, false), body, { ...HEADERS[protocol], ...headers });
}

/** The time for which a call is signed, in Unix milliseconds. */
function timeOf({ headers }: UpstreamCall): number {
  const [, year, month, day, hour, minute, second] =
    /^(....)(..)(..)T(..)(..)(..)Z$/.exec(String(headers['x-amz-date'])) ?? [];
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

/** The signature that the vendor makes of a call. */
function expectedAuthorization(call: UpstreamCall): Promise<string | undefined> {
  return authorizationOfVendor(call, KEYS, { region: 'us-east-1', service: 'bedrock' });
}

describe('Amazon Bedrock', () => {
  const ADDRESSES: [ProtocolId, model: string, stream: boolean, path: string][] = [
    ['messages', PROFILE, false, '/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke'],
    ['messages', PROFILE, true, '/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream'],
    ['chat', PROFILE, true, '/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream'],
    ['generate', PROFILE, false, '/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke'],
    [
      'messages',
      ARN,
      false,
      '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fabc123/invoke',
    ],
    ['chat', 'openai.gpt-oss-120b-1:0', false, '/openai/v1/chat/completions'],
    ['messages', 'openai.gpt-oss-120b-1:0', false, '/openai/v1/chat/completions'],
    ['chat', GPT, false, '/openai/v1/chat/completions'],
    ['messages', GPT, false, '/openai/v1/responses'],
  ];
  for (const [protocol, id, stream, path] of ADDRESSES) {
    test(`${protocol} to ${id}, ${stream ? 'streamed' : 'whole'}, signed as the vendor signs it`, async () => {
      const response = await ask(gateway, { protocol, model: `bedrock/${id}`, text: 'Hi', stream });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      assert.match(text, /Hello\./);
      assert.ok(text.includes(`bedrock/${id}`), 'the answer has the name that the client asked for');
      const { authorization } = last().headers;
      assert.equal(last().path, path);
      assert.equal(last().headers['x-amz-security-token'], KEYS.sessionToken);
      assert.equal(authorization, await expectedAuthorization(last()));
      const tampered = { ...last(), bytes: Buffer.concat([last().bytes, Buffer.from(' ')]) };
      assert.notEqual(authorization, await expectedAuthorization(tampered));
    });
  }

  test('access keys that are incomplete are refused, and not shown or sent as an API key', async () => {
    const { accessKeyId: id } = KEYS;
    const temporary = `ASIA${id.slice(4)}`;
    const incomplete = /Access keys of AWS must be <access key id>:<secret access key>/;
    const spaced = /api_key: has a space or the end of a line in it, which no key has/;
    const refused: [key: string, reason: RegExp][] = [
      ...[id, `${id}:`, `${temporary}:hidden`].map((key): [string, RegExp] => [key, incomplete]),
      ...[`${id}: hidden`, `${id}:hidden:to\\nken`].map((key): [string, RegExp] => [key, spaced]),
    ];
    for (const [key, reason] of refused) {
      const yaml = `providers: { bedrock: { base_url: "${upstream.url}", api_key: "${key}" } }`;
      await assert.rejects(startTestGateway(yaml), (problem: Error) => {
        assert.match(problem.message, reason, key);
        assert.doesNotMatch(problem.message, /hidden|AKIAT|ASIAT/);
        return true;
      });
    }
    const config = `providers: { fresh: { type: bedrock, base_url: "${upstream.url}", api_key: "${id}:hidden:\\n", models: [{ id: "${PROFILE}" }] } }`;
    const fresh = await startTestGateway(config);
    await ask(fresh, { protocol: 'messages', model: `fresh/${PROFILE}`, text: 'Hi' });
    await fresh.close();
    assert.match(String(last().headers.authorization), /^AWS4-HMAC-SHA256 /);
    assert.equal(last().headers['x-amz-security-token'], undefined, 'an empty session token is none');
  });

  test('an API key is sent as it is, also to the address that OpenAI clients are given', async () => {
    assert.equal((await ask(gateway, { protocol: 'messages', model: `keyed/${PROFILE}`, text: 'Hi' })).status, 200);
    assert.equal(last().headers.authorization, 'Bearer ABSKtest');
    assert.match(last().path, /^\/model\/us\./);
    assert.equal(last().headers['x-amz-date'], undefined);
  });

  test("OpenAI's models get the newer names of fields, those with open weights the older ones", async () => {
    const messages = [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ];
    await send('chat', `bedrock/${GPT}`, { messages, max_tokens: 9, max_completion_tokens: undefined });
    assert.deepEqual([last().body.max_completion_tokens, last().body.max_tokens], [9, undefined]);
    assert.equal(last().body.messages[0].role, 'developer');
    await send('chat', 'bedrock/openai.gpt-oss-120b-1:0', {
      messages,
      max_completion_tokens: 9,
      max_tokens: undefined,
    });
    assert.deepEqual([last().body.max_completion_tokens, last().body.max_tokens], [undefined, 9]);
    assert.equal(last().body.messages[0].role, 'system');
  });

  test("Responses of OpenAI's models: a search beside other tools is left out and named, one alone is refused", async () => {
    const ours = { type: 'function', name: 'now', parameters: { type: 'object' }, strict: false };
    const call = (tools: Json[]) =>
      post(`${gateway.url}/v1/responses`, { model: `bedrock/${GPT}`, input: 'Hi', tools }, HEADERS.chat);
    const beside = await call([{ type: 'web_search' }, ours]);
    assert.equal(beside.status, 200, await beside.clone().text());
    assert.equal(beside.headers.get('x-polygate-dropped'), 'tools.web_search');
    assert.deepEqual([last().path, last().body.tools], ['/openai/v1/responses', [ours]]);
    const alone = await call([{ type: 'web_search' }]);
    assert.equal(alone.status, 400);
    assert.match(await alone.text(), /no web search at this provider/);
  });

  test("Responses of OpenAI's models: a search that is left out is no choice either", async () => {
    const ours = { type: 'function', name: 'now', parameters: { type: 'object' }, strict: false };
    const search = { type: 'web_search' };
    const named = { type: 'function', name: 'now' };
    const allowed = (mode: string, ...tools: Json[]) => ({ type: 'allowed_tools', mode, tools });
    const call = (choice: Json) => {
      const body = { model: `bedrock/${GPT}`, input: 'Hi', tools: [ours, search], tool_choice: choice };
      return post(`${gateway.url}/v1/responses`, body, HEADERS.chat);
    };
    for (const [choice, sent] of [
      ['required', 'required'],
      [named, named],
      [allowed('required', search, named), allowed('required', named)],
      [allowed('auto', { type: 'web_search_preview' }), 'none'],
    ]) {
      const response = await call(choice);
      assert.equal(response.status, 200, await response.text());
      assert.deepEqual([last().body.tools, last().body.tool_choice], [[ours], sent]);
      assert.equal(response.headers.get('x-polygate-dropped'), 'tools.web_search');
    }
    const before = upstream.calls.length;
    for (const choice of [search, { type: 'web_search_preview' }, allowed('required', search)]) {
      const response = await call(choice);
      const { error } = (await response.json()) as Json;
      assert.deepEqual([response.status, error.code, error.param], [400, 'unsupported_tool', 'tool_choice']);
    }
    assert.equal(upstream.calls.length, before);
  });

  const STATE = 'reasoning.encrypted_content';
  const STORED: [asked: Json, sent: Json][] = [
    [{}, { store: false, include: [STATE] }],
    [
      { store: true, include: ['message.output_text.logprobs'] },
      { store: false, include: ['message.output_text.logprobs', STATE] },
    ],
    [
      { store: null, include: [STATE] },
      { store: false, include: [STATE] },
    ],
    [{ store: false }, { store: false, include: undefined }],
  ];
  for (const [asked, { store, include }] of STORED) {
    test(`Responses of OpenAI's models: nothing is stored there, whatever is asked: ${JSON.stringify(asked)}`, async () => {
      const body = { model: `bedrock/${GPT}`, input: 'Hi', ...asked };
      const response = await post(`${gateway.url}/v1/responses`, body, HEADERS.chat);
      assert.equal(response.status, 200, await response.text());
      assert.deepEqual([last().body.store, last().body.include], [store, include]);
      assert.equal(response.headers.get('x-polygate-dropped'), null);
    });
  }

  test("Responses of OpenAI's models: reasoning goes back with its state in a response that continues another", async (context) => {
    context.after(() => {
      answer = wellAnswered;
    });
    answer = ({ body }, response) => {
      const state = body.include?.includes(STATE) && { encrypted_content: 'sealed' };
      const reasoning = { id: 'rs_1', type: 'reasoning', summary: [], ...state };
      answerJson(response, { ...RESPONSE, store: body.store ?? true, output: [reasoning, ...RESPONSE.output] });
    };
    const create = async (more: Json) => {
      const body = { model: `bedrock/${GPT}`, input: 'Hi', ...more };
      return (await post(`${gateway.url}/v1/responses`, body, HEADERS.chat)).json() as Json;
    };
    const { id } = await create({});
    await create({ previous_response_id: id });
    assert.equal(last().body.previous_response_id, undefined);
    const [, reasoning] = last().body.input;
    assert.deepEqual([reasoning.type, reasoning.encrypted_content], ['reasoning', 'sealed']);
  });

  test('a model that cannot reason is not asked for the state of reasoning, and keeps_responses lets Bedrock store', async (context) => {
    const models = `[{ id: ${GPT}, rules: { reasoning: none } }]`;
    const config = `providers:
  plain: { type: bedrock, base_url: "${upstream.url}", api_key: ABSK, models: ${models} }
  keeping: { type: bedrock, base_url: "${upstream.url}", api_key: ABSK, models: ${models}, keeps_responses: true }
`;
    const fresh = await startTestGateway(config);
    context.after(() => fresh.close());
    for (const [provider, store] of [
      ['plain', false],
      ['keeping', undefined],
    ]) {
      await post(`${fresh.url}/v1/responses`, { model: `${provider}/${GPT}`, input: 'Hi' }, HEADERS.chat);
      assert.deepEqual([last().body.store, last().body.include], [store, undefined]);
    }
  });

  test('the base of a profile whose ARN names no model says how it is asked', async (context) => {
    const config = `providers: { fresh: { type: bedrock, base_url: "${upstream.url}", api_key: ABSK, models: [
      { id: "${ARN}", base: anthropic/claude-sonnet-4-5 }, { id: "${ARN}4", base: openai/gpt-5.6-sol }] } }`;
    const fresh = await startTestGateway(config);
    context.after(() => fresh.close());
    await ask(fresh, { protocol: 'messages', model: `fresh/${ARN}`, text: 'Hi' });
    assert.match(last().path, /abc123\/invoke$/);
    await ask(fresh, { protocol: 'messages', model: `fresh/${ARN}4`, text: 'Hi' });
    assert.equal(last().path, '/openai/v1/responses');
  });

  test('an id that names Anthropic or OpenAI says how it is asked where the base names another vendor', async (context) => {
    const config = `providers: { fresh: { type: bedrock, base_url: "${upstream.url}", api_key: ABSK, models: [
      { id: "${PROFILE}", base: aws/claude-sonnet-4-5 }, { id: ${GPT}, base: aws/gpt },
      { id: openai.gpt-oss-120b-1:0, base: aws/open }, { id: "${ARN}5", base: aws/nova } ] } }`;
    const fresh = await startTestGateway(config);
    context.after(() => fresh.close());
    const ids = [PROFILE, GPT, 'openai.gpt-oss-120b-1:0', `${ARN}5`];
    const ends = [/\/invoke$/, /\/openai\/v1\/responses$/, /\/openai\/v1\/chat\/completions$/, /abc1235\/converse$/];
    for (const [index, id] of ids.entries()) {
      await ask(fresh, { protocol: 'messages', model: `fresh/${id}`, text: 'Hi' });
      assert.match(last().path, ends[index] ?? assert.fail());
    }
  });

  test('the body is that of the client but for three members, and betas are one of them', async () => {
    const headers = { 'anthropic-beta': 'context-1m-2025-08-07, claude-code-20250219,advanced-tool-use-2025-11-20' };
    const response = await send('messages', `bedrock/${PROFILE}`, { stream: true, top_k: 3 }, headers);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('x-polygate-dropped'), 'anthropic-beta: claude-code-20250219');
    assert.deepEqual(last().body, {
      ...{ max_tokens: 1000, messages: [{ role: 'user', content: 'Hi' }], top_k: 3 },
      anthropic_version: 'bedrock-2023-05-31',
      anthropic_beta: ['context-1m-2025-08-07', 'tool-search-tool-2025-10-19'],
    });
    assert.deepEqual([last().headers['anthropic-beta'], last().headers['anthropic-version']], [undefined, undefined]);
    await send('messages', `bedrock/${PROFILE}`, { anthropic_version: 'bedrock-2026-10-21' });
    assert.equal(last().body.anthropic_version, 'bedrock-2026-10-21');
    assert.equal(last().body.anthropic_beta, undefined);
  });

  test('members of a body that fail a request are left out and named, or become a beta', async () => {
    const cached = { type: 'ephemeral', ttl: '1h' };
    const tool = { name: 'now', input_schema: { type: 'object' }, cache_control: cached };
    const more = {
      tools: [{ ...tool, eager_input_streaming: true, cache_control: { ...cached, scope: 'global' } }],
      anthropic_beta: 'context-1m-2025-08-07,oauth-2025-04-20',
      speed: 'fast',
    };
    const headers = { 'anthropic-beta': 'new-2027-01-01', 'anthropic-user-profile-id': 'uprof_1' };
    const response = await send('messages', `bedrock/${PROFILE}`, more, headers);
    assert.equal(response.status, 200);
    const dropped = 'speed, cache_control.scope, anthropic-beta: oauth-2025-04-20, anthropic-user-profile-id';
    assert.equal(response.headers.get('x-polygate-dropped'), dropped);
    assert.deepEqual(last().body.tools, [tool]);
    const betas = ['context-1m-2025-08-07', 'new-2027-01-01', 'fine-grained-tool-streaming-2025-05-14'];
    assert.deepEqual([last().body.speed, last().body.anthropic_beta], [undefined, betas]);
    await send('messages', `bedrock/${PROFILE}`, {
      tools: [{ ...tool, eager_input_streaming: false }],
      anthropic_beta: 5,
    });
    assert.deepEqual([last().body.tools, last().body.anthropic_beta], [[tool], ['5']]);
  });

  test('betas that coding agents send with every request do not fail it', async () => {
    const asked = [
      ...['interleaved-thinking-2025-05-14', 'thinking-token-count-2026-05-13', 'context-management-2025-06-27'],
      ...['per-turn-control-2026-07-01', 'fallback-credit-2026-06-01', 'afk-mode-2026-01-31', 'effort-2025-11-24'],
      ...['output-128k-2025-02-19', 'token-efficient-tools-2025-02-19', 'token-efficient-tools-2026-03-28'],
      ...['redact-thinking-2026-02-12', 'extended-cache-ttl-2025-04-11', 'mcp-servers-2025-12-04'],
      'adaptive-thinking-2026-01-28',
    ];
    const headers = { 'anthropic-beta': asked.join(',') };
    const response = await send('messages', `bedrock/${PROFILE}`, {}, headers);
    const sent = ['interleaved-thinking-2025-05-14', 'context-management-2025-06-27', 'effort-2025-11-24'];
    assert.deepEqual(last().body.anthropic_beta, sent);
    const dropped = asked.filter((beta) => !sent.includes(beta)).map((beta) => `anthropic-beta: ${beta}`);
    assert.equal(response.headers.get('x-polygate-dropped'), dropped.join(', '));
  });

  test('a tier is named as dropped, whatever it is', async () => {
    const response = await send('chat', `bedrock/${PROFILE}`, { service_tier: 'priority' });
    assert.equal(response.headers.get('x-polygate-dropped'), 'service_tier');
    assert.equal(last().body.service_tier, undefined);
  });

  test('a picture by URL of a client of messages is refused by the gateway, so that another endpoint serves it', async (context) => {
    const providers = `providers:
  bedrock: { base_url: "${upstream.url}", api_key: ABSK, models: [{ id: "${PROFILE}" }] }
  anthropic: { base_url: "${upstream.url}", api_key: k, models: [{ id: claude }] }`;
    const endpoints = `[{ provider: bedrock, model: "${PROFILE}" }, { provider: anthropic, model: claude, priority: 1 }]`;
    const routed = await startTestGateway(`${providers}\nmodels: { "team/claude": { endpoints: ${endpoints} } }`);
    context.after(() => routed.close());
    const source = { type: 'url', url: 'https://example.com/picture.png' };
    const result = { type: 'tool_result', tool_use_id: 't', content: [{ type: 'image', source }] };
    for (const block of [{ type: 'image', source }, result]) {
      const messages = [{ role: 'user', content: [block] }];
      const alone = await send('messages', `bedrock/${PROFILE}`, { messages });
      assert.equal(alone.status, 400);
      assert.match(await alone.text(), /takes images and documents by their content/);
      const body = { ...question('messages', 'team/claude', ''), messages };
      assert.equal((await post(routed.url + PATHS.messages(), body, HEADERS.messages)).status, 200);
      assert.deepEqual([last().path, last().body.messages], ['/v1/messages', messages]);
    }
  });

  test('a picture by URL is sent as its content, because Claude fetches none here', async () => {
    const picture = { type: 'image_url', image_url: { url: 'https://example.com/picture.png' } };
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, picture] }];
    assert.equal((await send('chat', `bedrock/${PROFILE}`, { messages })).status, 200);
    const source = { type: 'base64', media_type: 'image/png', data: PIXEL };
    assert.deepEqual(last().body.messages[0].content[1], { type: 'image', source });
  });

  test('events of a stream reach a client of messages unchanged, and their usage is counted', async () => {
    const response = await send('messages', `bedrock/${PROFILE}`, { stream: true });
    const events = (await response.text()).split('\n\n').filter((frame) => frame !== '');
    const read = events.map((frame) => JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as Json);
    const named = (EVENTS as Json[]).map((event) =>
      event.message ? { ...event, message: { ...event.message, model: `bedrock/${PROFILE}` } } : event,
    );
    assert.deepEqual(read, named);
  });

  const ERRORS: [name: string, status: number, message: string, ours: number, code: string, text: RegExp][] = [
    ['ThrottlingException', 429, 'Too many requests.', 429, 'rate_limit_exceeded', /Too many requests/],
    ['ServiceQuotaExceededException', 400, 'Quota.', 429, 'rate_limit_exceeded', /Quota/],
    ['ModelNotReadyException', 429, 'Not ready.', 503, 'server_is_overloaded', /Not ready/],
    ['ModelTimeoutException', 408, 'Too slow.', 504, 'timeout', /Too slow/],
    ['ModelErrorException', 424, 'The model failed.', 502, 'upstream_error', /The model failed/],
    ['ResourceNotFoundException', 404, 'No such model.', 404, 'model_not_found', /No such model/],
    ['ValidationException', 400, 'Malformed input.', 400, 'invalid_request', /Malformed input/],
    ['ValidationException', 400, 'The provided model identifier is invalid.', 404, 'model_not_found', /is invalid/],
    ['ValidationException', 400, 'Input is too long for it.', 400, 'context_length_exceeded', /Input is too long/],
    ['AccessDeniedException', 403, 'User arn:x is not authorized.', 502, 'upstream_error', /refused or failed/],
    [
      'IncompleteSignatureException',
      403,
      'Key AKIA of arn:x is incomplete.',
      502,
      'upstream_error',
      /refused or failed/,
    ],
    ['ExpiredTokenException', 403, 'The security token is expired.', 502, 'upstream_error', /refused or failed/],
  ];
  for (const [name, status, message, ours, code, text] of ERRORS) {
    test(`${name}: ${message}`, async (context) => {
      context.after(() => {
        answer = wellAnswered;
      });
      answer = (_call, response) =>
        answerJson(response, { message }, status, { 'x-amzn-errortype': `${name}:http://internal.amazon.com/` });
      const config = `providers: { fresh: { type: bedrock, base_url: "${upstream.url}", api_key: ABSK, models: [{ id: "${PROFILE}" }] } }`;
      const fresh = await startTestGateway(config);
      context.after(() => fresh.close());
      const response = await ask(fresh, { protocol: 'chat', model: `fresh/${PROFILE}`, text: 'Hi' });
      const { error } = (await response.json()) as Json;
      assert.deepEqual([response.status, error.code], [ours, code]);
      assert.match(error.message, text);
    });
  }

  const NAMED: [about: string, headers: Record<string, string>, body: Json][] = [
    ['behind a namespace', { 'x-amzn-errortype': 'com.amazon.coral#ThrottlingException' }, { message: 'Slow down.' }],
    ['in the body', {}, { __type: 'com.amazon.coral#ThrottlingException', message: 'Slow down.' }],
    ['over an error of OpenAI', { 'x-amzn-errortype': 'ThrottlingException' }, { error: { message: 'Slow down.' } }],
  ];
  for (const [about, headers, body] of NAMED) {
    test(`the name of an error ${about}`, async (context) => {
      context.after(() => {
        answer = wellAnswered;
      });
      answer = (_call, response) => answerJson(response, body, 400, headers);
      const response = await ask(gateway, { protocol: 'chat', model: `keyed/${PROFILE}`, text: 'Hi' });
      const { error } = (await response.json()) as Json;
      assert.deepEqual([response.status, error.message], [429, 'Slow down.']);
    });
  }

  test('a request whose time Bedrock refuses is repeated with the time of Bedrock, which later ones have at once', async (context) => {
    let ahead = 0;
    context.after(() => {
      answer = wellAnswered;
    });
    answer = (call, response) => {
      const late = Date.now() + ahead - timeOf(call);
      if (Math.abs(late) < 5 * 60_000) return wellAnswered(call, response);
      const message = `Signature ${late > 0 ? 'expired: now is later' : 'not yet current: now is earlier'}`;
      const date = new Date(Date.now() + ahead).toUTCString();
      answerJson(response, { message }, 403, { 'x-amzn-errortype': 'InvalidSignatureException:x', date });
    };
    const signed = [KEYS.accessKeyId, KEYS.secretAccessKey, KEYS.sessionToken].join(':');
    const config = `providers: { fresh: { type: bedrock, base_url: "${upstream.url}", api_key: "${signed}", models: [{ id: "${PROFILE}" }] } }`;
    const fresh = await startTestGateway(config);
    context.after(() => fresh.close());
    const send = () => ask(fresh, { protocol: 'messages', model: `fresh/${PROFILE}`, text: 'Hi' });
    for (const minutes of [20, -20, 0]) {
      ahead = minutes * 60_000;
      const answers = await Promise.all(Array.from({ length: 20 }, send));
      for (const one of answers) assert.equal(one.status, 200, await one.text());
      assert.equal(last().headers.authorization, await expectedAuthorization(last()));
      const asked = upstream.calls.length;
      assert.equal((await send()).status, 200);
      assert.equal(upstream.calls.length, asked + 1);
    }
  });

  const OF_ANOTHER_REASON: [about: string, status: number, name: string, message: string, date: number][] = [
    ['a name in the text of an error', 400, 'ValidationException', "The tool 'RequestExpired' is invalid.", 0],
    ['the words in another error', 403, 'AccessDeniedException', 'Signature expired: no.', 0],
    ['the words with another status', 400, 'InvalidSignatureException', 'Signature expired: no.', 0],
    ['a date without end', 403, 'InvalidSignatureException', 'Signature expired: no.', 8.64e15],
    ['a date of last year', 403, 'InvalidSignatureException', 'Signature expired: no.', Date.UTC(2025, 0)],
  ];
  for (const [about, status, name, message, date] of OF_ANOTHER_REASON) {
    test(`${about} corrects no clock, and repeats nothing`, async (context) => {
      context.after(() => {
        answer = wellAnswered;
      });
      const now = Date.now();
      answer = (_call, response) => {
        const headers = { 'x-amzn-errortype': name, date: new Date(date || now + 3_600_000).toUTCString() };
        answerJson(response, { message }, status, headers);
      };
      const signed = [KEYS.accessKeyId, KEYS.secretAccessKey].join(':');
      const config = `providers: { fresh: { type: bedrock, base_url: "${upstream.url}", api_key: "${signed}", models: [{ id: "${PROFILE}" }] } }`;
      const fresh = await startTestGateway(config);
      context.after(() => fresh.close());
      const before = upstream.calls.length;
      const refused = await ask(fresh, { protocol: 'chat', model: `fresh/${PROFILE}`, text: 'Hi' });
      const isOfClient = name === 'ValidationException';
      assert.equal(refused.status, isOfClient ? 400 : 502);
      assert.match(await refused.text(), isOfClient ? /The tool 'RequestExpired' is invalid/ : /refused or failed/);
      assert.equal(upstream.calls.length, before + 1);
      answer = wellAnswered;
      await ask(fresh, { protocol: 'messages', model: `fresh/${PROFILE}`, text: 'Hi' });
      assert.equal(upstream.calls.length, before + 2);
      assert.ok(Math.abs(timeOf(last()) - now) < 60_000);
    });
  }

  test('a time that is refused although it was corrected is the refusal of the endpoint', async (context) => {
    context.after(() => {
      answer = wellAnswered;
    });
    const clock = createManualClock(Date.now());
    answer = (_call, response) => {
      const date = new Date(clock.now() + 20 * 60_000).toUTCString();
      const headers = { 'x-amzn-errortype': 'InvalidSignatureException', date };
      answerJson(response, { message: 'Signature expired: now is later' }, 403, headers);
    };
    const signed = [KEYS.accessKeyId, KEYS.secretAccessKey].join(':');
    const fresh = await startTestGateway(
      `providers: { fresh: { type: bedrock, base_url: "${upstream.url}", api_key: "${signed}", models: [{ id: "${PROFILE}" }] } }`,
      { clock },
    );
    context.after(() => fresh.close());
    const callsOfOne = async () => {
      const before = upstream.calls.length;
      await ask(fresh, { protocol: 'messages', model: `fresh/${PROFILE}`, text: 'Hi' });
      return upstream.calls.length - before;
    };
    assert.equal(await callsOfOne(), 2);
    clock.advance(61_000);
    assert.equal(await callsOfOne(), 1);
  });

  test('an exception before the first event is an error, and one after it ends the stream with one (checklist 79)', async (context) => {
    context.after(() => {
      answer = wellAnswered;
    });
    const streams =
      (...messages: Buffer[]): Answerer =>
      (_call, response) => {
        response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
        response.end(Buffer.concat(messages));
      };
    const config = `providers: { fresh: { type: bedrock, base_url: "${upstream.url}", api_key: ABSK, models: [{ id: "${PROFILE}" }] } }`;
    const fresh = await startTestGateway(config);
    context.after(() => fresh.close());
    const model = `fresh/${PROFILE}`;
    answer = streams(awsException('validationException', 'Malformed input.'));
    const early = await ask(fresh, { protocol: 'messages', model, text: 'Hi', stream: true });
    assert.equal(early.status, 400);
    assert.match(await early.text(), /Malformed input/);
    answer = streams(...EVENTS.slice(0, 3).map(awsChunk), awsException('throttlingException', 'Slow down.'));
    const late = await (await ask(fresh, { protocol: 'messages', model, text: 'Hi', stream: true })).text();
    assert.match(late, /Hello\.[\s\S]*event: error\ndata: .*rate_limit_error.*Slow down/);
    answer = streams(...EVENTS.slice(0, 4).map(awsChunk));
    const cut = await (await ask(fresh, { protocol: 'messages', model, text: 'Hi', stream: true })).text();
    assert.match(cut, /event: error/, 'a stream without its end is no answer');
  });
});
