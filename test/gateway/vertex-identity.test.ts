/** Vertex AI with identities of Google, through a whole gateway. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { folderOf } from '../identity/rig.ts';
import { type Stub, startStub } from '../identity/stub.ts';
import { answerJson, ask, startTestGateway, startUpstream, type TestGateway } from './harness.ts';

const GEMINI: Json = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
};
const MODEL = 'vertex/gemini-2.5-flash';

const send = (gateway: TestGateway) => ask(gateway, { protocol: 'generate', model: MODEL, text: 'Hi' });

/** The metadata server and a token endpoint; tokens by the number of the call. */
async function startIssuer(context: TestContext): Promise<Stub> {
  const stub = await startStub(() => ({
    headers: { 'metadata-flavor': 'Google' },
    body: { access_token: `token-${stub.calls.length}`, expires_in: 3599 },
  }));
  context.after(() => stub.close());
  return stub;
}

async function startVertex(context: TestContext, credentials: string, environment: Record<string, string>) {
  const upstream = await startUpstream((_, response) => answerJson(response, GEMINI));
  context.after(() => upstream.close());
  const base = `${upstream.url}/v1/projects/my-project/locations/global`;
  const gateway = await startTestGateway(
    `providers: { vertex: { base_url: "${base}", credentials: ${credentials} } }`,
    { environment },
  );
  context.after(() => gateway.close());
  return { gateway, upstream };
}

test('the metadata server: one token for all requests, and none is asked for at the start', async (context) => {
  const issuer = await startIssuer(context);
  const environment = { GCE_METADATA_HOST: issuer.url, HOME: folderOf(context) };
  const { gateway, upstream } = await startVertex(context, 'auto', environment);
  assert.equal(issuer.calls.length, 0);
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(gateway)));
  for (const answer of answers) assert.equal(answer.status, 200, await answer.text());
  assert.equal(issuer.calls.length, 2, 'one for its presence, one for the token');
  assert.deepEqual(new Set(upstream.calls.map(({ headers }) => headers.authorization)), new Set(['Bearer token-2']));
});

test('authorized_user: the token and the quota project are headers, and no key is', async (context) => {
  const issuer = await startIssuer(context);
  const file = {
    ...{ type: 'authorized_user', client_id: 'c', client_secret: 'PLANTED', refresh_token: 'PLANTED' },
    ...{ token_uri: issuer.url, quota_project_id: 'billed' },
  };
  const path = join(folderOf(context, { adc: JSON.stringify(file) }), 'adc');
  const { gateway, upstream } = await startVertex(context, `{ file: "${path}" }`, {});
  assert.equal((await send(gateway)).status, 200);
  const { headers } = upstream.calls[0] ?? assert.fail();
  assert.deepEqual(
    [headers.authorization, headers['x-goog-user-project'], headers['x-goog-api-key']],
    ['Bearer token-1', 'billed', undefined],
  );
  assert.doesNotMatch(JSON.stringify(gateway.log), /PLANTED|token-1/);
});

test('without a token nothing is sent, and the client reads why', async (context) => {
  const issuer = await startIssuer(context);
  issuer.mode = 'failing';
  const environment = { GCE_METADATA_HOST: issuer.url, HOME: folderOf(context) };
  const { gateway, upstream } = await startVertex(context, 'auto', environment);
  const refused = await send(gateway);
  assert.equal(refused.status, 503);
  assert.match(await refused.text(), /No credentials for the upstream could be had: what answered is not the metadata/);
  assert.equal(upstream.calls.length, 0);
});
