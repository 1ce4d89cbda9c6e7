/** Mistakes of the first five minutes, and the errors that say what to do about them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { useRig } from '../conformance/rig.ts';
import { HEADERS, KEY, PATHS, post, question } from './harness.ts';

const rig = useRig({ providers: '  openai: {}\n' });

async function errorOf(path: string, model = 'a/m'): Promise<string> {
  const response = await post(`${rig.gateway.url}${path}`, question('chat', model, 'Hello'), HEADERS.chat);
  assert.equal(response.status, 404, path);
  const { error } = (await response.json()) as Json;
  return error.message;
}

test('a base URL whose prefix or version is missing, doubled or that of another API is told the path that there is', async () => {
  const cases: [asked: string, hint: string | undefined][] = [
    ['/chat/completions', '/v1/chat/completions'],
    ['/responses', '/v1/responses'],
    ['/v1/v1/chat/completions', '/v1/chat/completions'],
    ['/anthropic/v1/v1/messages', '/anthropic/v1/messages'],
    ['/v1/messages', '/anthropic/v1/messages'],
    ['/messages', '/anthropic/v1/messages'],
    ['/v1/v1/messages/count_tokens', '/anthropic/v1/messages/count_tokens'],
    ['/v1beta/models/a/m:generateContent', '/gemini/v1beta/models/a/m:generateContent'],
    ['/gemini/models/a/m:generateContent', '/gemini/v1beta/models/a/m:generateContent'],
    ['/anthropic/v1/chat/completions', '/v1/chat/completions'],
    ['/api/v1/chat/completions', '/v1/chat/completions'],
    ['/openai/v1/responses', '/v1/responses'],
    ['/v1', undefined],
    ['/v1/chat/completion', undefined],
    ['/nowhere', undefined],
  ];
  for (const [asked, hint] of cases) {
    const nothing = `There is nothing at POST ${asked}.`;
    assert.equal(
      await errorOf(asked),
      hint === undefined ? nothing : `${nothing} There is ${hint}: check the base URL.`,
    );
  }
});

test('a path of another gateway or an older API is told the one to use', async () => {
  const cases: [method: string, asked: string, hint: string][] = [
    ['GET', '/health', ' Use /healthz.'],
    ['GET', '/health/liveliness', ' Use /healthz.'],
    ['GET', '/health/readiness', ' Use /readyz.'],
    ['GET', '/docs', ' Use /openapi.json.'],
    ['POST', '/v1/completions', ' Use /v1/chat/completions.'],
    ['POST', '/health', ''],
    ['GET', '/v1/completions', ''],
  ];
  for (const [method, asked, hint] of cases) {
    const response = await fetch(`${rig.gateway.url}${asked}`, { method, headers: HEADERS.chat });
    const { error } = (await response.json()) as Json;
    assert.deepEqual([response.status, error.message], [404, `There is nothing at ${method} ${asked}.${hint}`]);
  }
});

test('a method of generateContent at the path of a list of models is told its own path', async () => {
  const asked = '/v1/models/a/m:generateContent';
  const response = await post(`${rig.gateway.url}${asked}`, question('generate', 'a/m', 'Hello'), HEADERS.chat);
  assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, HEAD']);
  const { error } = (await response.json()) as Json;
  assert.equal(error.message, `${asked} takes GET, HEAD, not POST. There is /gemini${asked}: check the base URL.`);
});

test('a request without a key, or with one that is not in the form of its header, is told the form', async () => {
  for (const protocol of ['chat', 'messages', 'generate'] as const) {
    const url = `${rig.gateway.url}${PATHS[protocol]('a/m', false)}`;
    const wrong: Record<string, string>[] = [{}, { authorization: KEY }, { authorization: 'Bearer ' }];
    for (const headers of wrong) {
      const response = await post(url, question(protocol, 'a/m', 'Hello'), headers);
      const { error } = (await response.json()) as Json;
      const expected = 'An API key is required: send the header "Authorization: Bearer KEY".';
      assert.deepEqual([response.status, error.message], [401, expected]);
    }
  }
});

test('a provider that waits for its key is not one that there is not', async () => {
  const path = '/v1/chat/completions';
  assert.equal(
    await errorOf(path, 'openai/gpt-5'),
    'The provider "openai" is not connected; polygate providers shows what it waits for. Connected are: a, b, c, sandbox.',
  );
  assert.match(
    await errorOf(path, 'nowhere/gpt-5'),
    /^There is no provider "nowhere"; configured are: a, b, c, sandbox\./,
  );
});
