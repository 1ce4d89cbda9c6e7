/** A key that may use some models reaches no other by any name for it. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { ask, PATHS, type ProtocolId, post, question, startTestGateway, type TestGateway } from './harness.ts';
import { providerEntry, type Scripted, startScripted } from './routing-upstreams.ts';
import { headersWith } from './usage-client.ts';

const SCOPED = 'sk-may-use-cheap-models-0123456789';

let cheap: Scripted;
let dear: Scripted;
let gateway: TestGateway;

before(async () => {
  [cheap, dear] = await Promise.all([startScripted('cheap'), startScripted('dear')]);
  gateway = await startTestGateway(
    `
providers:
  cheap: ${providerEntry(cheap, 'chat')}
  dear: ${providerEntry(dear, 'chat')}
aliases: { cheap/nice-name: dear/m, plain: dear/m, nice: cheap/m }
default_model: dear/m
routing: { fallback_models: [dear/m] }
`,
    { keys: [`{ name: scoped, key: ${SCOPED}, models: ["cheap/*", "plain", "auto"] }`] },
  );
});

after(async () => {
  await gateway.close();
  await Promise.all([cheap.close(), dear.close()]);
});

beforeEach(() => {
  cheap.behaves = 'well';
});

async function send(protocol: ProtocolId, model: string, more: object = {}): Promise<Response> {
  const body = { ...question(protocol, model, 'hi'), ...more };
  return post(gateway.url + PATHS[protocol](model, false), body, headersWith(protocol, SCOPED));
}

const NAMES: [model: string, more?: Json][] = [
  ['dear/m'],
  ['cheap/nice-name'],
  ['plain'],
  ['plain:floor'],
  ['dear/m:nitro'],
  ['auto'],
  ['cheap/auto'],
  ['auto', { model_routing_config: { models: ['dear/m', 'cheap/m'] } }],
  ['auto', { models: ['plain'] }],
];

for (const [model, more] of NAMES) {
  const protocols: ProtocolId[] = more ? ['chat'] : ['chat', 'messages', 'generate'];
  for (const protocol of protocols) {
    test(`${protocol}: ${model} ${JSON.stringify(more ?? {})} is refused`, async () => {
      assert.equal((await send(protocol, model, more)).status, 403);
      assert.equal(dear.calls.length, 0);
    });
  }
}

test('without a model the default is as little allowed', async () => {
  const response = await send('chat', 'cheap/m', { model: undefined });
  assert.equal(response.status, 403);
  assert.equal(dear.calls.length, 0);
});

test('counting tokens is as little allowed', async () => {
  const body = question('messages', 'plain', 'hi');
  const response = await post(`${gateway.url}${PATHS.messages()}/count_tokens`, body, headersWith('messages', SCOPED));
  assert.equal(response.status, 403);
});

const FALLBACKS: Json[] = [
  {},
  { models: ['dear/m'] },
  { models: ['plain', 'cheap/nice-name'] },
  { provider: { fallback: ['dear/m'] } },
  { provider: { models: ['dear/m'], sort: { by: 'price', partition: 'none' } } },
];

for (const more of FALLBACKS) {
  test(`what fails does not fall back to another model: ${JSON.stringify(more)}`, async () => {
    cheap.behaves = 500;
    assert.equal((await send('chat', 'cheap/m', more)).status, 502);
    assert.equal(dear.calls.length, 0);
  });
}

for (const name of ['model', 'models']) {
  test(`options name no ${name}`, async () => {
    const options = { cheap: { [name]: name === 'model' ? 'dear/m' : ['dear/m'] } };
    assert.equal((await send('chat', 'cheap/m', { provider: { options } })).status, 400);
  });
}

test('an alias of what it may use works, and auto takes it', async () => {
  assert.equal((await send('chat', 'nice')).status, 200);
  assert.equal((await send('chat', 'auto', { model_routing_config: { models: ['nice'] } })).status, 200);
  assert.equal((await ask(gateway, { protocol: 'chat', model: 'dear/m', text: 'hi' })).status, 200);
});
