/** Models by names without a provider, by globs of aliases, and models that nobody lists. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { KEY, startTestGateway, type TestGateway } from './harness.ts';
import { type Scripted, startScripted } from './routing-upstreams.ts';

const POOR_KEY = 'sk-test-gateway-key-with-a-budget';

let first: Scripted;
let second: Scripted;
let gateway: TestGateway;

before(async () => {
  [first, second] = [await startScripted('first'), await startScripted('second')];
  gateway = await startTestGateway(
    `
providers:
  copy: { type: openai-compatible, base_url: "${first.url}/v1", api_key: k, models: [{ id: gpt-5 }, { id: rare }] }
  openai: { base_url: "${second.url}/v1", api_key: k }
  open: { type: google, base_url: "${first.url}", api_key: k, models: any }
aliases: { "claude-haiku-*": copy/rare }
`,
    { keys: [`{ name: poor, key: ${POOR_KEY}, budgets: { day: "1" } }`] },
  );
});

after(async () => {
  await gateway.close();
  await Promise.all([first.close(), second.close()]);
});

async function ask(model: string, { key = KEY, path = '/v1/chat/completions' } = {}) {
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
  });
  const json: Json = await response.json();
  return { status: response.status, json, endpoint: response.headers.get('x-polygate-endpoint') };
}

test('a name without a provider goes to the vendor, and the answer says so', async () => {
  const { json, endpoint } = await ask('gpt-5');
  assert.equal(endpoint, 'openai/gpt-5');
  assert.equal(json.model, 'openai/gpt-5');
  assert.equal((await ask('rare')).endpoint, 'copy/rare');
  assert.equal((await ask('gpt-5:copy')).status, 400, 'the suffix pins a provider that does not serve it');
});

test('a name without a provider in the path of generateContent', async () => {
  const response = await fetch(`${gateway.url}/gemini/v1beta/models/gpt-5:generateContent`, {
    method: 'POST',
    headers: { 'x-goog-api-key': KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ contents: [{ parts: [{ text: 'Hi' }] }] }),
  });
  assert.equal(response.headers.get('x-polygate-endpoint'), 'openai/gpt-5');
});

test('an alias with a glob', async () => {
  assert.equal((await ask('claude-haiku-4-5-20251001')).endpoint, 'copy/rare');
});

test('a model by any of its names, as it is listed', async () => {
  for (const name of ['gpt-5', 'openai/gpt-5', 'claude-haiku-4-5', 'rare']) {
    for (const base of ['/v1/models', '/anthropic/v1/models', '/gemini/v1beta/models']) {
      const response = await fetch(`${gateway.url}${base}/${name}`);
      const model: Json = await response.json();
      assert.equal(response.status, 200, JSON.stringify(model));
      assert.equal(
        (model.id ?? model.name).replace('models/', ''),
        name.endsWith('gpt-5') ? 'openai/gpt-5' : 'copy/rare',
      );
    }
  }
  const unknown: Json = await (await fetch(`${gateway.url}/v1/models/gpt-55`)).json();
  assert.match(unknown.error.message, /There is no provider and no model "gpt-55"\. Similar are: .*openai\/gpt-5/);
  const below: Json = await (await fetch(`${gateway.url}/v1/models/openai/gpt-55`)).json();
  assert.match(below.error.message, /There is no model "openai\/gpt-55"\. Similar are: .*openai\/gpt-5/);
});

test('a suffix of a name that a glob meets', async () => {
  assert.equal((await ask('claude-haiku-4-5:copy')).endpoint, 'copy/rare');
  assert.equal((await ask('claude-haiku-4-5:openai')).status, 400, 'the suffix pins a provider that does not serve it');
});

test('a model that nobody lists, where the provider takes any', async () => {
  const { status, json, endpoint } = await ask('open/gemini-99-ultra');
  assert.equal(status, 200, JSON.stringify(json));
  assert.equal(endpoint, 'open/gemini-99-ultra');
  assert.match(first.calls.at(-1)?.path ?? '', /models\/gemini-99-ultra:generateContent/);
  const shown: Json = await (await fetch(`${gateway.url}/v1/models/open/gemini-99-ultra`)).json();
  assert.deepEqual([shown.unlisted, shown.pricing.prompt], [true, '-1'], JSON.stringify(shown));
  const list: Json = await (await fetch(`${gateway.url}/v1/models`)).json();
  assert.ok(list.data.every(({ id }: Json) => id !== 'open/gemini-99-ultra'));
});

test('an id that would lead out of the models of its provider is unknown', async () => {
  for (const id of ['open/a/../../files/b', 'open/..', 'open/a/./b']) {
    const asked = first.calls.length;
    const { status, json } = await ask(id);
    assert.deepEqual([status, json.error.code], [404, 'model_not_found'], id);
    assert.equal(first.calls.length, asked, 'nothing is sent');
  }
});

test('its suffix is a routing suffix', async () => {
  assert.equal((await ask('open/gemini-99-ultra:nitro')).endpoint, 'open/gemini-99-ultra');
});

test('a key with a budget may not use a model of unknown price', async () => {
  const refused = await ask('open/gemini-99-ultra', { key: POOR_KEY });
  assert.equal(refused.status, 403);
  assert.match(refused.json.error.message, /price of "open\/gemini-99-ultra" is unknown/);
  assert.equal((await ask('gpt-5', { key: POOR_KEY })).status, 200);
});

test('an unknown name is refused with similar ones, and how to allow it', async () => {
  const misspelled = await ask('openai/gpt-5-mni');
  assert.equal(misspelled.status, 404);
  assert.match(misspelled.json.error.message, /Similar are: openai\/gpt-5-mini/);
  assert.match(misspelled.json.error.message, /providers\.openai\.models: any/);
  assert.match((await ask('gtp-5')).json.error.message, /There is no model "gtp-5".* Similar are: .*openai\/gpt-5/);
  assert.equal((await ask('open/../../v1/files')).status, 404);
});
