/** Conversations of records: named by headers, else by the name in the body by which routing keeps them together. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { ADMIN_CONFIG, askAdmin } from './admin-client.ts';
import { KEY, post, startTestGateway, type TestGateway } from './harness.ts';

const SESSION = '4f0b8a52-7c3d-4e19-9a60-0d1c2b3a4f5e';
const ACCOUNT = '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d';
const MESSAGES = [{ role: 'user', content: 'what nobody may keep' }];

const ASKING = {
  chat: { path: '/v1/chat/completions', body: { messages: MESSAGES } },
  responses: { path: '/v1/responses', body: { input: 'what nobody may keep' } },
  messages: { path: '/anthropic/v1/messages', body: { max_tokens: 9, messages: MESSAGES } },
};
type Protocol = keyof typeof ASKING;

let gateway: TestGateway;

before(async () => {
  gateway = await startTestGateway(ADMIN_CONFIG);
});
after(() => gateway.close());

async function ask(protocol: Protocol, named: Json, headers: Record<string, string> = {}): Promise<string> {
  const { path, body } = ASKING[protocol];
  const request = { model: 'sandbox/echo', ...body, ...named };
  const own = { authorization: `Bearer ${KEY}`, 'anthropic-version': '2023-06-01' };
  const response = await post(gateway.url + path, request, { ...own, ...headers });
  assert.equal(response.status, 200, await response.text());
  return response.headers.get('x-polygate-request-id') ?? '';
}

async function sessionOf(id: string): Promise<string | null> {
  const { body } = await askAdmin(gateway.adminUrl, 'GET', `/requests/${id}`);
  assert.doesNotMatch(JSON.stringify(body), /nobody may keep/);
  return body.data.session;
}

describe('a conversation is named', () => {
  for (const [name, protocol, named, expected] of [
    ['prompt_cache_key of chat', 'chat', { prompt_cache_key: 'cache-1' }, 'cache-1'],
    ['session_id of chat', 'chat', { session_id: 'chat-1' }, 'chat-1'],
    ['prompt_cache_key of responses', 'responses', { prompt_cache_key: 'thread-1' }, 'thread-1'],
    ['session_id of responses', 'responses', { session_id: 'thread-2' }, 'thread-2'],
    ['user_id of messages', 'messages', { metadata: { user_id: 'someone' } }, 'someone'],
    [
      'the session in a user_id',
      'messages',
      { metadata: { user_id: `user_${'ab12'.repeat(16)}_account_${ACCOUNT}_session_${SESSION}` } },
      SESSION,
    ],
    [
      'the session in a user_id without an account',
      'messages',
      { metadata: { user_id: `user_${'ab12'.repeat(16)}_account__session_${SESSION}` } },
      SESSION,
    ],
    [
      'the session in a user_id of JSON',
      'messages',
      { metadata: { user_id: JSON.stringify({ device_id: 'd', account_uuid: ACCOUNT, session_id: SESSION }) } },
      SESSION,
    ],
    ['nothing, and not by what it says', 'chat', {}, null],
    ['nothing, and not by what it says', 'responses', {}, null],
    ['nothing, and not by what it says', 'messages', {}, null],
  ] as const) {
    test(`by ${name} (${protocol})`, async () => {
      assert.equal(await sessionOf(await ask(protocol, named)), expected);
    });
  }

  test('by a header before that', async () => {
    const id = await ask('chat', { prompt_cache_key: 'cache-1' }, { 'x-session-id': 'by header' });
    assert.equal(await sessionOf(id), 'by header');
    const unnamed = await ask('chat', { prompt_cache_key: 'cache-1' }, { 'x-session-id': '' });
    assert.equal(await sessionOf(unnamed), 'cache-1');
  });

  test('by its beginning and a digest if the name is long', async () => {
    const long = 'x'.repeat(3000);
    const sessions = [];
    for (const end of ['1', '2', '1']) sessions.push(await sessionOf(await ask('chat', { session_id: long + end })));
    assert.equal(sessions[0], sessions[2]);
    assert.notEqual(sessions[0], sessions[1]);
    assert.ok(sessions.every((session) => session?.length === 200));
    const query = new URLSearchParams({ session: String(sessions[0]) });
    assert.equal((await askAdmin(gateway.adminUrl, 'GET', `/requests?${query}`)).body.data.length, 2);
  });
});

test('requests of all protocols that name one conversation are one line', async () => {
  const session = 'across-protocols';
  await ask('chat', { prompt_cache_key: session });
  await ask('responses', { session_id: session });
  await ask('messages', { metadata: { user_id: session } });
  await ask('chat', {}, { 'x-session-id': session });
  const { body } = await askAdmin(gateway.adminUrl, 'GET', `/requests/sessions?session=${session}`);
  assert.deepEqual(
    body.data.map((line: Json) => [line.session, line.requests]),
    [[session, 4]],
  );
});

test('usage.trace: none keeps none', async () => {
  const shared = gateway;
  gateway = await startTestGateway(`${ADMIN_CONFIG}\nusage: { trace: none }`);
  try {
    for (const [protocol, named] of [
      ['chat', { session_id: 'one' }],
      ['responses', { prompt_cache_key: 'two' }],
      ['messages', { metadata: { user_id: 'three' } }],
    ] as const) {
      assert.equal(await sessionOf(await ask(protocol, named)), null);
    }
    assert.deepEqual((await askAdmin(gateway.adminUrl, 'GET', '/requests/sessions')).body.data, []);
  } finally {
    await gateway.close();
    gateway = shared;
  }
});
