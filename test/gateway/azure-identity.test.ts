/** A provider type that takes identities of Microsoft Entra, through a whole gateway. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { providerTypes } from '../../src/providers/index.ts';
import { providerType } from '../../src/providers/type.ts';
import { startStub } from '../identity/stub.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { answerJson, ask, HEADERS, post, startTestGateway, startUpstream } from './harness.ts';

const ANSWER = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};

const RESPONSE = {
  ...{ id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'gpt-5', output: [] },
  usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
};

const type = providerType({
  ...{ id: 'entra', name: 'Entra', environment: [], keyless: true, identity: 'azure' },
  dialects: [{ protocol: 'chat' }],
  credential: (key) => ({ 'api-key': key }),
});

test('a managed identity is a bearer token and no key; one that is refused is renewed, and the request repeated', async (context) => {
  const issuer = await startStub(() => ({
    body: { access_token: `token-${issuer.calls.length}`, expires_in: 3599 },
  }));
  context.after(() => issuer.close());
  const revoked = new Set<string>();
  const upstream = await startUpstream(({ headers }, response) => {
    if (!revoked.has(String(headers.authorization))) return answerJson(response, ANSWER);
    return answerJson(response, { statusCode: 401, message: 'Unauthorized. Access token is missing, invalid' }, 401);
  });
  context.after(() => upstream.close());
  const clock = createManualClock(Date.now());
  const yaml = `providers: { p: { type: entra, base_url: "${upstream.url}", credentials: managed, models: [{ id: m }] } }`;
  const gateway = await startTestGateway(yaml, {
    environment: { IDENTITY_ENDPOINT: `${issuer.url}/msi/token`, IDENTITY_HEADER: 'header' },
    providerTypes: new Map([...providerTypes, ['entra', type]]),
    clock,
  });
  context.after(() => gateway.close());
  const send = () => ask(gateway, { protocol: 'chat', model: 'p/m', text: 'Hi' });
  assert.equal((await send()).status, 200);
  const [first] = upstream.calls;
  assert.deepEqual([first?.headers.authorization, first?.headers['api-key']], ['Bearer token-1', undefined]);
  clock.advance(60_000);
  revoked.add('Bearer token-1');
  const response = await send();
  assert.equal(response.status, 200, await response.text());
  assert.deepEqual(
    upstream.calls.map(({ headers }) => headers.authorization),
    ['Bearer token-1', 'Bearer token-1', 'Bearer token-2'],
  );
  assert.equal(issuer.calls.length, 2);
});

test('a deployment without permission does not cost the token of the others while the issuer is down', async (context) => {
  const issuer = await startStub(() => ({ body: { access_token: 'token', expires_in: 3599 } }));
  context.after(() => issuer.close());
  const upstream = await startUpstream(({ path, body }, response) => {
    if (body.model === 'prod') return answerJson(response, ANSWER);
    const message = 'The principal `p` lacks the required data action';
    return answerJson(response, { error: { code: 'PermissionDenied', message }, path }, 401);
  });
  context.after(() => upstream.close());
  const clock = createManualClock(Date.now());
  const models = '[{ id: prod }, { id: denied }, { id: claude-opus }]';
  const gateway = await startTestGateway(
    `providers: { azure: { base_url: "${upstream.url}", credentials: managed, models: ${models} } }`,
    { environment: { IDENTITY_ENDPOINT: `${issuer.url}/msi/token`, IDENTITY_HEADER: 'header' }, clock },
  );
  context.after(() => gateway.close());
  const send = (model: string) => ask(gateway, { protocol: 'chat', model: `azure/${model}`, text: 'Hi' });
  assert.equal((await send('prod')).status, 200);
  issuer.mode = 'failing';
  for (const denied of ['denied', 'claude-opus']) {
    clock.advance(60_000);
    const asked = upstream.calls.length;
    assert.equal((await send(denied)).status, 502);
    assert.equal(upstream.calls.length, asked + 1, 'it is not repeated');
    assert.equal((await send('prod')).status, 200, denied);
  }
});

test('a stored response is asked for again with a new token, once', async (context) => {
  const issuer = await startStub(() => ({
    body: { access_token: `token-${issuer.calls.length}`, expires_in: 3599 },
  }));
  context.after(() => issuer.close());
  const revoked = new Set<string>();
  const upstream = await startUpstream(({ headers }, response) => {
    if (!revoked.has(String(headers.authorization))) return answerJson(response, RESPONSE);
    return answerJson(response, { error: { code: '401', message: 'Unauthorized.' } }, 401);
  });
  context.after(() => upstream.close());
  const clock = createManualClock(Date.now());
  const models = '[{ id: prod, base: openai/gpt-5 }]';
  const gateway = await startTestGateway(
    `providers: { azure: { base_url: "${upstream.url}", credentials: managed, models: ${models} } }`,
    { environment: { IDENTITY_ENDPOINT: `${issuer.url}/msi/token`, IDENTITY_HEADER: 'header' }, clock },
  );
  context.after(() => gateway.close());
  const url = `${gateway.url}/v1/responses`;
  const created = await post(url, { model: 'azure/prod', input: 'Hi' }, HEADERS.chat);
  const { id } = (await created.json()) as { id: string };
  const read = () => fetch(`${url}/${id}`, { headers: HEADERS.chat });
  clock.advance(60_000);
  revoked.add('Bearer token-1');
  assert.equal((await read()).status, 200);
  assert.deepEqual([upstream.calls.length, issuer.calls.length], [3, 2]);
  revoked.add('Bearer token-2');
  assert.equal((await read()).status, 502, 'a new token that is refused is refused for another reason');
  assert.deepEqual([upstream.calls.length, issuer.calls.length], [4, 2]);
});
