/** Mistakes of the first five minutes, and the errors that say what to do about them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { useRig } from '../conformance/rig.ts';
import { HEADERS, post, question } from './harness.ts';

const rig = useRig({ providers: '  openai: {}\n' });

async function errorOf(path: string, model = 'a/m'): Promise<string> {
  const response = await post(`${rig.gateway.url}${path}`, question('chat', model, 'Hello'), HEADERS.chat);
  assert.equal(response.status, 404);
  const { error } = (await response.json()) as Json;
  return error.message;
}

test('a base URL without /v1, or with it twice, is told the path that there is', async () => {
  const cases: [asked: string, hint: string | undefined][] = [
    ['/chat/completions', '/v1/chat/completions'],
    ['/responses', '/v1/responses'],
    ['/v1/v1/chat/completions', '/v1/chat/completions'],
    ['/anthropic/v1/v1/messages', '/anthropic/v1/messages'],
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
