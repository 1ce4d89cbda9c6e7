/** Several credentials of one provider: later turns of a conversation go where its state is. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import { WIRES } from '../faults/wires.ts';
import {
  type Answerer,
  answerEvents,
  answerJson,
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
} from './harness.ts';

let upstream: TestUpstream;
let gateway: TestGateway;
let limited: string | undefined;
/** Body of the next answers, with status 403. */
let forbidden: object | undefined;
/** Body of the answer to a call that is refused with 403. */
let refusing: ((call: Parameters<Answerer>[0]) => object | false) | undefined;

const answer: Answerer = (call, response) => {
  if (forbidden) return answerJson(response, forbidden, 403);
  if (call.path === '/v1/messages') return answerMessage(call, response);
  const refusal = refusing?.(call);
  if (refusal) return answerJson(response, refusal, 403);
  if (call.headers.authorization === limited)
    return answerJson(response, { error: { message: 'Slow down.', type: 'rate_limit_error' } }, 429);
  answerJson(response, {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  });
};

/** A message with an id of its own. */
function answerMessage({ body }: UpstreamCall, response: ServerResponse): void {
  const { head, tail, whole } = WIRES.messages;
  const id = `msg_${randomUUID()}`;
  if (!body.stream) answerJson(response, { ...whole, id });
  else answerEvents(response, (head + tail).replace('"msg_1"', JSON.stringify(id)));
}

before(async () => {
  upstream = await startUpstream(answer);
  gateway = await startTestGateway(`providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", api_keys: [key-1, key-2, key-3], models: [{ id: m }] }
  b: { type: openai-compatible, base_url: "${upstream.url}/v1", api_keys: [key-4], models: [{ id: m }, { id: denied }] }
  c: { type: openai-compatible, base_url: "${upstream.url}/v1", api_keys: [key-5], models: [{ id: denied }] }
  claude: { type: anthropic, base_url: "${upstream.url}", api_keys: [key-1, key-2, key-3], models: [{ id: m }] }
routing: { fallback_models: [c/denied] }`);
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

async function keyOf(
  protocol: ProtocolId,
  more: object,
  headers: Record<string, string> = {},
  text = 'hi',
): Promise<string | undefined> {
  await post(
    gateway.url + PATHS[protocol]('a/m', false),
    { ...question(protocol, 'a/m', text), ...more },
    { ...HEADERS[protocol], ...headers },
  );
  return upstream.calls.at(-1)?.headers.authorization;
}

const NAMED: [string, ProtocolId, (name: string) => [object, Record<string, string>]][] = [
  ['prompt_cache_key', 'chat', (name) => [{ prompt_cache_key: name }, {}]],
  ['metadata.user_id', 'messages', (name) => [{ metadata: { user_id: name } }, {}]],
  ['x-claude-code-session-id', 'messages', (name) => [{}, { 'x-claude-code-session-id': name }]],
  ['x-session-id', 'generate', (name) => [{}, { 'x-session-id': name }]],
  ['x-litellm-session-id', 'chat', (name) => [{}, { 'x-litellm-session-id': name }]],
  ['x-litellm-session-id', 'messages', (name) => [{}, { 'x-litellm-session-id': name }]],
  ['x-litellm-session-id', 'generate', (name) => [{}, { 'x-litellm-session-id': name }]],
];

for (const [field, protocol, named] of NAMED) {
  test(`${field} of a ${protocol} client names the conversation`, async () => {
    const used = new Set<string | undefined>();
    for (let index = 0; index < 12; index++) {
      const [more, headers] = named(`conversation ${index}`);
      const first = await keyOf(protocol, more, headers, 'first turn');
      assert.equal(await keyOf(protocol, more, headers, 'another turn'), first);
      used.add(first);
    }
    assert.ok(used.size > 1, 'conversations are spread over credentials');
  });
}

for (const protocol of ['chat', 'messages', 'generate'] as const) {
  test(`a ${protocol} conversation without a name is known by how it began`, async () => {
    const used = new Set<string | undefined>();
    for (let index = 0; index < 12; index++) {
      const text = `beginning ${index}`;
      const first = await keyOf(protocol, {}, {}, text);
      assert.equal(await keyOf(protocol, later(protocol, text), {}, text), first);
      used.add(first);
    }
    assert.ok(used.size > 1, 'conversations are spread over credentials');
  });
}

/** The second turn of a conversation that began with `text`. */
function later(protocol: ProtocolId, text: string): object {
  if (protocol === 'generate')
    return {
      contents: [
        ['user', text],
        ['model', 'ok'],
        ['user', 'more'],
      ].map(([role, part]) => ({ role, parts: [{ text: part }] })),
    };
  return {
    messages: [
      ['user', text],
      ['assistant', 'ok'],
      ['user', 'more'],
    ].map(([role, content]) => ({ role, content })),
  };
}

test('a credential that is limited rests, and the conversation goes on with another', async () => {
  const more = { prompt_cache_key: 'resting' };
  limited = await keyOf('chat', more);
  await keyOf('chat', more);
  const next = await keyOf('chat', more);
  assert.notEqual(next, limited);
});

test('a model that an account may not use rests, and the other models of the account do not', async () => {
  const body = { error: { message: 'Project `p` does not have access to model `denied`', code: 'model_not_found' } };
  const ask = async (model: string) => {
    upstream.calls.length = 0;
    const { status } = await post(gateway.url + PATHS.chat(), question('chat', model, 'hi'), HEADERS.chat);
    return [status, ...upstream.calls.map(({ headers }) => headers.authorization)];
  };
  refusing = (call) => call.headers.authorization === 'Bearer key-4' && call.body.model === 'denied' && body;
  try {
    assert.deepEqual(await ask('b/denied'), [502, 'Bearer key-4']);
    assert.deepEqual(await ask('b/denied'), [200, 'Bearer key-5'], 'the model rests');
    assert.deepEqual(await ask('b/m'), [200, 'Bearer key-4'], 'the account does not');
  } finally {
    refusing = undefined;
  }
});

/** Content that is refused with 403, as xAI and OpenRouter say it. */
const FLAGGED: Record<string, object> = {
  xai: {
    code: 'The caller does not have permission to execute the specified operation',
    error:
      'Content violates usage guidelines. Team: team-of-xai, API key ID: id-of-key, Failed check: SAFETY_CHECK_TYPE_BIO',
  },
  openrouter: {
    error: {
      code: 403,
      message: 'vendor/model requires moderation on Vendor. Your input was flagged for "violence".',
      metadata: { reasons: ['violence'], flagged_input: 'hi', provider_name: 'Vendor', model_slug: 'vendor/model' },
    },
  },
  'openrouter, with a type': {
    error: { code: 403, message: 'Refused.', metadata: { error_type: 'content_policy_violation' } },
  },
};

for (const [name, body] of Object.entries(FLAGGED)) {
  test(`content that ${name} refuses with 403 is the fault of the request, and the credential stays in use`, async () => {
    const more = { prompt_cache_key: `flagged by ${name}` };
    const used = await keyOf('chat', more);
    upstream.calls.length = 0;
    forbidden = body;
    const refused = await post(gateway.url + PATHS.chat(), { ...question('chat', 'a/m', 'hi'), ...more }, HEADERS.chat);
    forbidden = undefined;
    const text = await refused.text();
    assert.deepEqual([refused.status, JSON.parse(text).error.code], [400, 'content_policy_violation'], text);
    assert.equal(refused.headers.get('x-should-retry'), 'false');
    assert.doesNotMatch(text, /team-of-xai|id-of-key|vendor/i);
    assert.equal(upstream.calls.length, 1);
    assert.equal(await keyOf('chat', more), used);
  });
}

for (const stream of [false, true]) {
  test(`a thread of messages goes on at the account that has it, ${stream ? 'streamed' : 'whole'}`, async () => {
    /** The id of the answer, and the key that it was asked with. */
    async function send(text: string, thread: object): Promise<{ id: string; key: unknown }> {
      const body = { ...question('messages', 'claude/m', text, stream), thread };
      const response = await post(gateway.url + PATHS.messages(), body, HEADERS.messages);
      const [id = ''] = /msg_[\w-]+/.exec(await response.text()) ?? [];
      return { id, key: upstream.calls.at(-1)?.headers['x-api-key'] };
    }
    for (let number = 0; number < 12; number++) {
      const begun = await send(`Hi ${number}`, { type: 'create' });
      let { id } = begun;
      for (const text of ['Go on', 'And on']) {
        const next = await send(text, { type: 'continue', previous_message_id: id });
        assert.notEqual(next.id, id);
        assert.equal(next.key, begun.key);
        ({ id } = next);
      }
    }
  });
}
