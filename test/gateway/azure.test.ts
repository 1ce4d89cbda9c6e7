/** Azure OpenAI and Microsoft Foundry: addresses, credentials, deployments, streams and refusals, through a whole gateway. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import type { ProviderType } from '../../src/core/provider.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { createTokenSource } from '../../src/transport/token-source.ts';
import { folderOf } from '../identity/rig.ts';
import { startStub } from '../identity/stub.ts';
import { ADMIN_CONFIG, askAdmin } from './admin-client.ts';
import { API_KEY, CHUNKS, eventsOf, OLDER_VERSION, PROMPT_FILTER, startAzure, TOKEN } from './azure-upstream.ts';
import {
  type Answerer,
  answerEvents,
  answerJson,
  ask,
  HEADERS,
  KEY,
  PATHS,
  type ProtocolId,
  post,
  question,
  startTestGateway,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

const CREDENTIALS = ['api-key', 'x-api-key', 'authorization'];

const azure = providerTypes.get('azure') as ProviderType;
/** The type with a token for each key, as of an identity at Entra ID. */
const withTokens: ProviderType = {
  ...azure,
  id: 'azure-with-token',
  readKey: (text) => ({
    type: 'token',
    source: createTokenSource({
      id: 'app',
      fetchToken: async () => ({ token: text, expiresAt: Date.now() + 3_600_000 }),
    }),
  }),
};

/** Answers in the place of the resource, if set. */
let answer: Answerer | undefined;
let upstream: TestUpstream;
let second: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startAzure((call, response) => {
    answer?.(call, response);
    return answer !== undefined;
  });
  second = await startAzure();
  const models = `[${[
    '{ id: prod-gpt, base: openai/gpt-5.4 }',
    '{ id: gpt-4o }',
    '{ id: "team deepseek", name: DeepSeek, base: deepseek/deepseek-v4-pro }',
    '{ id: vectors, base: openai/text-embedding-3-small }',
    '{ id: claude, base: anthropic/claude-sonnet-4-5 }',
    '{ id: claude-sonnet-4-5 }',
    '{ id: gone }',
  ].join(', ')}]`;
  gateway = await startTestGateway(
    `
${ADMIN_CONFIG}
providers:
  azure: { base_url: "${upstream.url}/", api_key: ${API_KEY}, models: ${models} }
  older: { type: azure, base_url: "${upstream.url}/openai", api_key: ${API_KEY}, api_version: ${OLDER_VERSION}, models: ${models} }
  token: { type: azure-with-token, base_url: "${upstream.url}/openai/v1", api_key: ${TOKEN}, models: ${models} }
  headers: { type: azure, base_url: "${upstream.url}", api_key: unused, headers: { Authorization: "Bearer ${TOKEN}" }, models: ${models} }
  wrong: { type: azure, base_url: "${upstream.url}", api_key: another-key, models: ${models} }
  other: { type: azure, base_url: "${second.url}", api_key: ${API_KEY}, models: ${models} }
models:
  team/gpt: { endpoints: [{ provider: azure, model: prod-gpt }, { provider: other, model: prod-gpt, priority: 1 }] }
  team/claude: { endpoints: [{ provider: azure, model: claude }, { provider: other, model: claude, priority: 1 }] }
`,
    { providerTypes: new Map([...providerTypes, [withTokens.id, withTokens]]) },
  );
});

after(async () => {
  await gateway.close();
  await upstream.close();
  await second.close();
});

const last = () => upstream.calls.at(-1) ?? assert.fail('nothing was asked');

function send(protocol: ProtocolId, model: string, more: Json = {}, headers: Record<string, string> = {}) {
  const body = { ...question(protocol, model, 'Hi', more.stream), ...more };
  return post(gateway.url + PATHS[protocol](model, false), body, { ...HEADERS[protocol], ...headers });
}

/** Sets an answer for the rest of a test. */
function answerWith(context: { after(hook: () => void): void }, next: Answerer): void {
  answer = next;
  context.after(() => {
    answer = undefined;
  });
}

describe('addresses', () => {
  const OLDER = `?api-version=${OLDER_VERSION}`;
  const cases: [ProtocolId, model: string, stream: boolean, path: string][] = [
    ['chat', 'azure/prod-gpt', false, '/openai/v1/chat/completions'],
    ['chat', 'azure/prod-gpt', true, '/openai/v1/chat/completions'],
    ['messages', 'azure/prod-gpt', true, '/openai/v1/chat/completions'],
    ['generate', 'azure/prod-gpt', false, '/openai/v1/chat/completions'],
    ['chat', 'azure/team deepseek', false, '/openai/v1/chat/completions'],
    ['messages', 'azure/claude', false, '/anthropic/v1/messages'],
    ['messages', 'azure/claude', true, '/anthropic/v1/messages'],
    ['chat', 'azure/claude', true, '/anthropic/v1/messages'],
    ['messages', 'azure/claude-sonnet-4-5', false, '/anthropic/v1/messages'],
    ['chat', 'older/prod-gpt', false, `/openai/deployments/prod-gpt/chat/completions${OLDER}`],
    ['messages', 'older/prod-gpt', true, `/openai/deployments/prod-gpt/chat/completions${OLDER}`],
    ['chat', 'older/team deepseek', true, `/openai/deployments/team%20deepseek/chat/completions${OLDER}`],
    ['messages', 'older/claude', true, '/anthropic/v1/messages'],
    ['chat', 'token/prod-gpt', false, '/openai/v1/chat/completions'],
    ['messages', 'token/claude', false, '/anthropic/v1/messages'],
    ['chat', 'headers/prod-gpt', false, '/openai/v1/chat/completions'],
    ['messages', 'headers/claude', false, '/anthropic/v1/messages'],
  ];
  for (const [protocol, model, stream, path] of cases) {
    test(`${protocol} to ${model}, ${stream ? 'streamed' : 'whole'}`, async () => {
      const name = protocol === 'generate' ? encodeURI(model) : model;
      const response = await ask(gateway, { protocol, model: name, text: 'Hi', stream });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      assert.match(text, /Hello\./);
      assert.ok(text.includes(model), 'the answer has the name that the client asked for');
      assert.equal(last().path, path);
      assert.equal(CREDENTIALS.filter((header) => last().headers[header] !== undefined).length, 1);
    });
  }

  test('Responses are relayed at both APIs, and embeddings go to their deployment', async () => {
    for (const [provider, path] of [
      ['azure', '/openai/v1/responses'],
      ['older', `/openai/responses${OLDER}`],
    ] as const) {
      const body = { model: `${provider}/prod-gpt`, input: 'Hi' };
      const response = await post(`${gateway.url}/v1/responses`, body, HEADERS.chat);
      assert.equal(response.status, 200);
      assert.equal(((await response.json()) as Json).output[0].content[0].text, 'Hello.');
      assert.deepEqual([last().path, last().body.model], [path, 'prod-gpt']);
    }
    for (const [provider, path] of [
      ['azure', '/openai/v1/embeddings'],
      ['older', `/openai/deployments/vectors/embeddings${OLDER}`],
    ] as const) {
      const body = { model: `${provider}/vectors`, input: 'Hi' };
      const response = await post(`${gateway.url}/v1/embeddings`, body, HEADERS.chat);
      assert.equal(response.status, 200);
      assert.deepEqual(((await response.json()) as Json).data[0].embedding, [0.6, 0.8]);
      assert.equal(last().path, path);
    }
  });

  test('an address that was copied with its path is that of the resource', () => {
    const resource = 'https://my-resource.services.ai.azure.com';
    const url = (baseUrl: string) =>
      azure.create({ id: 'azure', baseUrl }).platform.url({ type: 'models', path: '/models' });
    for (const path of [
      '',
      '/',
      '/openai',
      '/openai/',
      '/openai/v1',
      '/openai/v1/',
      '/openai/v1/chat/completions',
      '/openai/v1/responses',
      '/openai/deployments/prod-gpt',
      '/openai/deployments/prod-gpt/chat/completions',
      '/openai/deployments/vectors/embeddings',
      '/openai/responses',
      '/anthropic',
      '/anthropic/v1/messages',
      '/models',
      '/models/chat/completions',
      '/api/projects/my-project',
      '/api/projects/my-project/openai/v1',
    ])
      assert.equal(url(resource + path), `${resource}/openai/v1/models`, path);
    for (const [given, used] of [
      ['https://my-resource.openai.azure.us/openai/v1', 'https://my-resource.openai.azure.us/openai/v1/models'],
      ['https://my-resource.openai.azure.cn', 'https://my-resource.openai.azure.cn/openai/v1/models'],
      ['https://apim.example.com/openai/prod/', 'https://apim.example.com/openai/prod/openai/v1/models'],
      ['https://apim.example.com/my-openai/openai', 'https://apim.example.com/my-openai/openai/v1/models'],
    ] as const)
      assert.equal(url(given), used);
  });

  test("today's way, the type openai with the address of the v1 API, goes on working", async () => {
    const own = await startTestGateway(
      `providers: { azure: { type: openai, base_url: "${upstream.url}/openai/v1", api_key: ${TOKEN}, models: [{ id: prod-gpt }] } }`,
    );
    const response = await ask(own, { protocol: 'chat', model: 'azure/prod-gpt', text: 'Hi' });
    assert.equal(response.status, 200);
    assert.equal(last().path, '/openai/v1/chat/completions');
    await own.close();
  });
});

describe('credentials', () => {
  const cases: [provider: string, deployment: string, header: string, value: string][] = [
    ['azure', 'prod-gpt', 'api-key', API_KEY],
    ['azure', 'claude', 'x-api-key', API_KEY],
    ['older', 'prod-gpt', 'api-key', API_KEY],
    ['token', 'prod-gpt', 'authorization', `Bearer ${TOKEN}`],
    ['token', 'claude', 'authorization', `Bearer ${TOKEN}`],
    ['headers', 'prod-gpt', 'authorization', `Bearer ${TOKEN}`],
    ['headers', 'claude', 'authorization', `Bearer ${TOKEN}`],
  ];
  for (const [provider, deployment, header, value] of cases) {
    test(`${provider}/${deployment}: ${header} alone`, async () => {
      const response = await ask(gateway, { protocol: 'messages', model: `${provider}/${deployment}`, text: 'Hi' });
      assert.equal(response.status, 200);
      const sent = CREDENTIALS.filter((name) => last().headers[name] !== undefined);
      assert.deepEqual(sent, [header]);
      assert.equal(last().headers[header], value);
      assert.equal(last().headers['anthropic-version'], deployment === 'claude' ? '2023-06-01' : undefined);
    });
  }

  test('an identity of Microsoft Entra: its token alone, at each API, and one request for it', async (context) => {
    const entra = await startStub(() => ({ body: { access_token: TOKEN, expires_in: 3599 } }));
    context.after(() => entra.close());
    const folder = folderOf(context, { token: 'assertion-of-a-workload' });
    const identity = 'credentials: workload';
    const models = '[{ id: prod-gpt }, { id: claude, base: anthropic/claude-sonnet-4-5 }]';
    const own = await startTestGateway(
      `
providers:
  azure: { base_url: "${upstream.url}", ${identity}, models: ${models} }
  older: { type: azure, base_url: "${upstream.url}", ${identity}, api_version: ${OLDER_VERSION}, models: ${models} }
`,
      {
        environment: {
          AZURE_AUTHORITY_HOST: entra.url,
          AZURE_TENANT_ID: 'tenant',
          AZURE_CLIENT_ID: 'client',
          AZURE_FEDERATED_TOKEN_FILE: join(folder, 'token'),
        },
      },
    );
    context.after(() => own.close());
    for (const model of ['azure/prod-gpt', 'azure/claude', 'older/prod-gpt', 'older/claude']) {
      const response = await ask(own, { protocol: 'messages', model, text: 'Hi' });
      assert.equal(response.status, 200, model);
      const sent = CREDENTIALS.filter((name) => last().headers[name] !== undefined);
      assert.deepEqual(sent, ['authorization']);
      assert.equal(last().headers.authorization, `Bearer ${TOKEN}`);
    }
    assert.equal(entra.calls.length, 2, 'once for each provider');
    assert.equal(entra.calls[0]?.form.client_assertion, 'assertion-of-a-workload');
  });

  test('no key of a client reaches the resource', async () => {
    for (const [name, value] of [
      ['api-key', KEY],
      ['authorization', `Bearer ${KEY}`],
    ] as const) {
      const body = question('chat', 'azure/prod-gpt', 'Hi');
      assert.equal((await post(`${gateway.url}/v1/chat/completions`, body, { [name]: value })).status, 200);
      assert.doesNotMatch(JSON.stringify(last().headers), new RegExp(KEY));
    }
  });
});

describe('deployments', () => {
  test('one with a base has its facts, price and rules, one without has the newest rules and no price', async () => {
    const response = await fetch(`${gateway.url}/v1/models`, { headers: HEADERS.chat });
    const listed = ((await response.json()) as Json).data as Json[];
    const of = (id: string) => listed.find((model) => model.id === id) ?? assert.fail(id);
    const priced = of('azure/prod-gpt');
    assert.ok(Number(priced.pricing.prompt) > 0 && Number(priced.pricing.completion) > 0);
    assert.ok(priced.context_length > 100_000);
    assert.ok(Number(of('azure/claude').pricing.completion) > 0);
    assert.deepEqual(of('azure/team deepseek').name, 'DeepSeek');
    for (const id of ['azure/gpt-4o', 'azure/claude-sonnet-4-5']) {
      assert.equal(of(id).pricing.prompt, '-1', id);
      assert.equal(of(id).context_length, 0, id);
    }
  });

  test('one without a base has them where the provider is named after a vendor, too', async (context) => {
    const own = await startTestGateway(
      `providers: { openai: { type: azure, base_url: "${upstream.url}", api_key: k, models: [{ id: gpt-4o }, { id: of-base, base: openai/gpt-4o }] } }`,
    );
    context.after(() => own.close());
    const response = await fetch(`${own.url}/v1/models`, { headers: HEADERS.chat });
    const listed = ((await response.json()) as Json).data as Json[];
    const deployed = listed.filter(({ id }) => id.startsWith('openai/'));
    const prompts = deployed.map(({ id, pricing, owned_by }) => [id, Number(pricing.prompt) > 0, owned_by]);
    assert.deepEqual(prompts.sort(), [
      ['openai/gpt-4o', false, 'openai'],
      ['openai/of-base', true, 'openai'],
    ]);
  });

  test('the rules of the base hold, and those of other vendors than OpenAI', async () => {
    const sampled = { temperature: 0.5, max_tokens: 20, messages: [{ role: 'developer', content: 'Be brief.' }] };
    await send('messages', 'azure/gpt-4o', { temperature: 0.5, max_tokens: 20 });
    assert.deepEqual([last().body.max_completion_tokens, last().body.temperature], [20, undefined]);
    await send('chat', 'azure/team deepseek', { ...sampled, top_k: 4, reasoning_effort: 'none' });
    const { max_tokens, max_completion_tokens, top_k, messages } = last().body;
    assert.deepEqual([max_tokens, max_completion_tokens, top_k], [20, undefined, undefined]);
    assert.equal(messages[0].role, 'system');
    const response = await send('messages', 'azure/prod-gpt', { system: 'Be brief.', temperature: 0.5, top_k: 4 });
    assert.equal(response.status, 200);
    assert.equal(last().body.messages[0].role, 'developer');
  });

  test('requests of one with a base cost what it costs, and a client of its protocol is relayed byte for byte', async () => {
    const body = Buffer.from('{ "messages": [ {"role":"user","content":"Hi"} ],  "model": "azure/prod-gpt" }');
    const response = await post(`${gateway.url}/v1/chat/completions`, body, HEADERS.chat);
    assert.equal(response.status, 200);
    assert.ok(((await response.json()) as Json).usage.cost > 0);
    assert.equal(last().bytes.toString(), body.toString().replace('azure/prod-gpt', 'prod-gpt'));
  });

  test('Claude: tokens are counted there, refused betas are left out and named, and the rest is as it was', async () => {
    const url = `${gateway.url}/anthropic/v1/messages/count_tokens`;
    const counted = await post(url, question('messages', 'azure/claude', 'How many?'), HEADERS.messages);
    assert.deepEqual(await counted.json(), { input_tokens: 7 });
    assert.equal(last().path, '/anthropic/v1/messages/count_tokens');
    const refused = ['claude-code-20250219', 'fast-mode-2026-02-01', 'mcp-servers-2025-12-04'];
    const betas = `interleaved-thinking-2025-05-14,${refused}`;
    const tool = { name: 'now', input_schema: { type: 'object' }, strict: true };
    const more = { tools: [tool], speed: 'fast', service_tier: 'auto', context_management: { edits: [] } };
    const response = await send('messages', 'azure/claude', more, { 'anthropic-beta': betas });
    assert.equal(response.status, 200);
    assert.equal(last().headers['anthropic-beta'], 'interleaved-thinking-2025-05-14');
    const dropped = response.headers.get('x-polygate-dropped') ?? '';
    for (const name of ['speed', ...refused]) assert.match(dropped, new RegExp(name));
    const { speed: _, ...kept } = more;
    assert.deepEqual(last().body, { ...question('messages', 'claude', 'Hi'), ...kept });
  });

  test('tokens of others are estimated: the resource has no count of them', async () => {
    const asked = upstream.calls.length;
    const body = { model: 'azure/prod-gpt', input: 'How many?' };
    const response = await post(`${gateway.url}/v1/responses/input_tokens`, body, HEADERS.chat);
    assert.equal(response.headers.get('x-polygate-estimated'), 'true');
    assert.equal(upstream.calls.length, asked);
  });

  test('signatures of reasoning are read by deployments of one vendor alone', () => {
    const { family } = azure.create({ id: 'azure', baseUrl: upstream.url });
    assert.equal(family?.('opus', 'anthropic/claude-opus-5'), family?.('sonnet', 'anthropic/claude-sonnet-5'));
    assert.notEqual(family?.('opus', 'anthropic/claude-opus-5'), family?.('gpt', 'openai/gpt-5.4'));
    assert.notEqual(family?.('one'), family?.('another'));
  });
});

describe('streams', () => {
  test('the first chunk, which has the results of the filter and no choice, is relayed to clients of chat', async () => {
    const response = await send('chat', 'azure/prod-gpt', { stream: true, stream_options: { include_usage: true } });
    const frames = (await response.text()).split('\n\n').filter((frame) => frame.startsWith('data: {'));
    const chunks = frames.map((frame) => JSON.parse(frame.slice('data: '.length)) as Json);
    const first = chunks.find((chunk) => chunk.prompt_filter_results !== undefined);
    assert.deepEqual(first?.prompt_filter_results, PROMPT_FILTER);
    assert.deepEqual(first?.choices, []);
    assert.deepEqual(
      chunks.map((chunk) => chunk.choices[0]?.content_filter_results),
      CHUNKS.map((chunk) => chunk.choices[0]?.content_filter_results),
    );
    assert.equal(chunks.at(-1)?.usage.prompt_tokens, 3);
  });

  test('clients of other protocols get an ordinary stream of it', async () => {
    const messages = await (
      await ask(gateway, { protocol: 'messages', model: 'azure/prod-gpt', text: 'Hi', stream: true })
    ).text();
    const types = [...messages.matchAll(/^event: (\w+)$/gm)].map(([, type]) => type);
    assert.equal(types[0], 'message_start');
    assert.equal(types.at(-1), 'message_stop');
    assert.equal(types.filter((type) => type === 'content_block_start').length, 1);
    assert.doesNotMatch(messages, /filter/);
    const generate = await (
      await ask(gateway, { protocol: 'generate', model: 'azure/prod-gpt', text: 'Hi', stream: true })
    ).text();
    assert.match(generate, /Hello\./);
    assert.doesNotMatch(generate, /"finishReason":"SAFETY"/);
  });
});

/** The codes of the errors of a request's attempts. */
async function errorsOf({ headers }: Response): Promise<(string | null)[]> {
  const path = `/requests/${headers.get('x-polygate-request-id')}`;
  const { body } = await askAdmin(gateway.adminUrl, 'GET', path);
  return body.data.trace.attempts.map(({ error }: Json) => error);
}

describe('refusals of content', () => {
  const FILTER = { hate: { filtered: true, severity: 'high' } };
  const refused = (inner: 'innererror' | 'inner_error', code = 'content_filter') => ({
    error: {
      ...{ message: 'The response was filtered due to the prompt.', type: null, param: 'prompt', code, status: 400 },
      [inner]: { code: 'ResponsibleAIPolicyViolation', content_filter_result: FILTER },
    },
  });
  const cases: [name: string, status: number, body: Json][] = [
    ['400 with innererror', 400, refused('innererror')],
    ['400 with inner_error', 400, refused('inner_error')],
    ['400 whose reason is the inner error alone', 400, refused('inner_error', 'BadRequest')],
    ['200 with an error body', 200, refused('innererror')],
    ['200 with inner_error', 200, refused('inner_error', '400')],
  ];
  for (const [name, status, body] of cases) {
    for (const model of ['team/gpt', 'team/claude']) {
      test(`${name}, of ${model}: a violation for each client, and no other endpoint is asked`, async (context) => {
        answerWith(context, (_call, response) => answerJson(response, body, status));
        const elsewhere = second.calls.length;
        for (const protocol of ['chat', 'messages'] as const) {
          const response = await ask(gateway, { protocol, model, text: 'Hi' });
          const text = await response.text();
          assert.equal(response.status, 400, text);
          assert.match(text, /filtered due to the prompt/);
          assert.deepEqual(await errorsOf(response), ['content_policy_violation']);
          if (protocol === 'messages') assert.match(text, /invalid_request_error/);
          else assert.match(text, /content_filter|content_policy_violation/);
        }
        assert.equal(second.calls.length, elsewhere);
      });
    }
  }

  test('a client of chat gets the results of the filter as the resource wrote them', async (context) => {
    answerWith(context, (_call, response) => answerJson(response, refused('innererror'), 400));
    const response = await ask(gateway, { protocol: 'chat', model: 'team/gpt', text: 'Hi' });
    assert.deepEqual(((await response.json()) as Json).error.innererror?.content_filter_result, FILTER);
  });

  test('an answer that the filter ended says so, also one without a message, and no other endpoint is asked', async (context) => {
    const ended = (more: Json) => ({
      ...{ id: 'c', object: 'chat.completion', created: 1, model: 'gpt-5.4' },
      choices: [{ index: 0, finish_reason: 'content_filter', content_filter_results: FILTER, ...more }],
      usage: { prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 },
    });
    const elsewhere = second.calls.length;
    for (const more of [{}, { message: { role: 'assistant', content: 'He' } }]) {
      answerWith(context, (_call, response) => answerJson(response, ended(more)));
      const chat = (await (await ask(gateway, { protocol: 'chat', model: 'team/gpt', text: 'Hi' })).json()) as Json;
      assert.equal(chat.choices[0].finish_reason, 'content_filter');
      const messages = (await (
        await ask(gateway, { protocol: 'messages', model: 'team/gpt', text: 'Hi' })
      ).json()) as Json;
      assert.equal(messages.stop_reason, 'refusal');
    }
    answerWith(context, (_call, response) =>
      answerEvents(
        response,
        eventsOf(CHUNKS.with(3, { ...CHUNKS[3], choices: [{ index: 0, delta: {}, finish_reason: 'content_filter' }] })),
      ),
    );
    const streamed = await (
      await ask(gateway, { protocol: 'messages', model: 'team/gpt', text: 'Hi', stream: true })
    ).text();
    assert.match(streamed, /"stop_reason":"refusal"/);
    assert.equal(second.calls.length, elsewhere);
  });
});

describe('other errors', () => {
  test('both forms of a refused credential are errors of the gateway, without the words of the resource', async (context) => {
    for (const protocol of ['chat', 'messages'] as const) {
      const response = await ask(gateway, { protocol, model: 'wrong/prod-gpt', text: 'Hi' });
      assert.ok(response.status >= 500);
      assert.doesNotMatch(await response.text(), /subscription key/);
    }
    answerWith(context, (_call, response) => answerJson(response, { statusCode: 401, message: 'Token of app-1' }, 401));
    for (const model of ['token/prod-gpt', 'token/claude']) {
      const response = await ask(gateway, { protocol: 'chat', model, text: 'Hi' });
      assert.ok(response.status >= 500);
      assert.doesNotMatch(await response.text(), /app-1/);
    }
  });

  test('a deployment that does not exist is an unknown model', async () => {
    for (const protocol of ['chat', 'messages'] as const) {
      for (const model of ['azure/gone', 'older/gone']) {
        const response = await ask(gateway, { protocol, model, text: 'Hi' });
        assert.equal(response.status, 404);
        assert.match(await response.text(), /deployment for this resource does not exist/);
      }
    }
  });

  test('a rate limit goes to the next endpoint, and retry-after-ms is the pause', async (context) => {
    const body = { error: { code: 'RateLimitReached', message: 'Your requests have exceeded the rate limit.' } };
    answerWith(context, (_call, response) =>
      answerJson(response, body, 429, { 'retry-after-ms': '1500', 'retry-after': '9' }),
    );
    const elsewhere = second.calls.length;
    const response = await ask(gateway, { protocol: 'chat', model: 'azure/claude', text: 'Hi' });
    assert.equal(response.status, 429);
    assert.equal(response.headers.get('retry-after'), '2');
    assert.equal((await ask(gateway, { protocol: 'chat', model: 'team/gpt', text: 'Hi' })).status, 200);
    assert.equal(second.calls.length, elsewhere + 1);
  });
});
