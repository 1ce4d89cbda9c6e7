/** Identities of Microsoft Entra: applications, workloads and managed identities, clouds, and what fails. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Secret } from '../../src/security/secret.ts';
import { folderOf, type IdentityRig, inMs, openRig } from './rig.ts';
import { type Stub, type StubAnswer, startStub } from './stub.ts';

const PLANTED = 'PLANTED-SECRET';
const HOUR = 3_600_000;
const TENANT = '00000000-0000-0000-0000-000000000000';
const SCOPE = 'https://cognitiveservices.azure.com/.default';
const APPLICATION = { tenant_id: TENANT, client_id: 'client', client_secret: new Secret(PLANTED) };

async function startAzure(context: TestContext): Promise<Stub> {
  const stub = await startStub(({ path, headers, form }): StubAnswer => {
    const access_token = `token-${stub.calls.length}`;
    if (path.startsWith('/msi/token'))
      return headers['x-identity-header'] === PLANTED
        ? { body: { access_token, expires_on: String(Date.parse(inMs(HOUR)) / 1000) } }
        : { status: 401 };
    if (path.startsWith('/metadata/')) {
      if (headers.metadata !== 'true') return { status: 400, body: { error: 'invalid_request' } };
      return { body: { access_token, expires_in: '3599' } };
    }
    if (form.client_id === 'refused')
      return { status: 401, body: { error: 'invalid_client', error_description: `AADSTS7000215: ${PLANTED}` } };
    return { body: { access_token, expires_in: 3599, token_type: 'Bearer' } };
  });
  context.after(() => stub.close());
  return stub;
}

async function tokenOf(rig: IdentityRig): Promise<string | undefined> {
  const sent = await rig.current();
  return sent.type === 'headers' ? sent.headers.authorization : undefined;
}

test('an application: its secret is exchanged for a token of the scope', async (context) => {
  const stub = await startAzure(context);
  const environment = { AZURE_AUTHORITY_HOST: `${stub.url}/` };
  const rig = await openRig('azure', { settings: APPLICATION, environment });
  assert.deepEqual(rig.status(), { name: 'application with a secret' });
  assert.equal(stub.calls.length, 0);
  assert.equal(await tokenOf(rig), 'Bearer token-1');
  const [call] = stub.calls;
  assert.equal(call?.path, `/${TENANT}/oauth2/v2.0/token`);
  const asked = { grant_type: 'client_credentials', client_id: 'client', scope: SCOPE, client_secret: PLANTED };
  assert.deepEqual(call?.form, asked);
  const scope = 'https://ai.azure.com/.default';
  await tokenOf(await openRig('azure', { settings: { ...APPLICATION, scope }, environment }));
  assert.equal(stub.calls[1]?.form.scope, scope);
});

test('the cloud is that of the host, and its authority is asked', async (context) => {
  const stub = await startAzure(context);
  const cases: [host: string, scope: string][] = [
    ['r.openai.azure.com', 'https://cognitiveservices.azure.com/.default'],
    ['r.openai.azure.us', 'https://cognitiveservices.azure.us/.default'],
    ['r.openai.azure.cn', 'https://cognitiveservices.azure.cn/.default'],
    ['r.openai.azure.us.evil.test', 'https://cognitiveservices.azure.com/.default'],
  ];
  for (const [host, scope] of cases) {
    const environment = { AZURE_AUTHORITY_HOST: stub.url };
    await tokenOf(await openRig('azure', { settings: APPLICATION, environment, baseUrl: `https://${host}` }));
    assert.equal(stub.calls.at(-1)?.form.scope, scope);
  }
});

test('a workload: the token of its file, read anew each time, is the assertion', async (context) => {
  const stub = await startAzure(context);
  const file = join(folderOf(context, { token: 'first\n' }), 'token');
  const environment = {
    AZURE_AUTHORITY_HOST: stub.url,
    AZURE_TENANT_ID: TENANT,
    AZURE_CLIENT_ID: 'client',
    AZURE_FEDERATED_TOKEN_FILE: file,
  };
  const rig = await openRig('azure', { settings: 'workload', environment });
  assert.equal(rig.status().name, 'workload identity (AZURE_FEDERATED_TOKEN_FILE)');
  await tokenOf(rig);
  assert.deepEqual(stub.calls[0]?.form, {
    ...{ grant_type: 'client_credentials', client_id: 'client', scope: SCOPE, client_assertion: 'first' },
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  });
  writeFileSync(file, 'second');
  rig.clock.advance(HOUR);
  await tokenOf(rig);
  assert.equal(stub.calls[1]?.form.client_assertion, 'second');
  const missing = await openRig('azure', { settings: 'workload' });
  assert.match(missing.status().problem ?? '', /AZURE_FEDERATED_TOKEN_FILE have to be set/);
});

test('a managed identity of an app: its endpoint and header, and the client of a user-assigned one', async (context) => {
  const stub = await startAzure(context);
  const environment = { IDENTITY_ENDPOINT: `${stub.url}/msi/token`, IDENTITY_HEADER: PLANTED };
  const rig = await openRig('azure', { settings: 'managed', environment });
  assert.equal(rig.status().name, 'managed identity of the app (IDENTITY_ENDPOINT)');
  assert.equal(await tokenOf(rig), 'Bearer token-1');
  const asked = new URL(stub.calls[0]?.path ?? '', stub.url).searchParams;
  assert.deepEqual(Object.fromEntries(asked), {
    'api-version': '2019-08-01',
    resource: 'https://cognitiveservices.azure.com',
  });
  rig.clock.advance(56 * 60_000);
  assert.equal(await tokenOf(rig), 'Bearer token-1');
  while ((await tokenOf(rig)) === 'Bearer token-1') await new Promise(setImmediate);
  assert.equal(stub.calls.length, 2);
  const settings = { source: 'managed', client_id: 'own', scope: 'https://ai.azure.com/.default' };
  await tokenOf(await openRig('azure', { settings, environment: { ...environment, AZURE_CLIENT_ID: 'other' } }));
  const { client_id, resource } = Object.fromEntries(new URL(stub.calls[2]?.path ?? '', stub.url).searchParams);
  assert.deepEqual([client_id, resource], ['own', 'https://ai.azure.com']);
  const arc = await openRig('azure', { settings: 'managed', environment: { IDENTITY_ENDPOINT: stub.url } });
  assert.match(arc.status().problem ?? '', /IDENTITY_ENDPOINT without IDENTITY_HEADER/);
  for (const host of ['10.0.0.7', '169.254.evil.test', '169.254.1.1.evil.test', '169.254.1.1@10.0.0.7']) {
    const abroad = { IDENTITY_ENDPOINT: `http://${host}/msi/token`, IDENTITY_HEADER: PLANTED };
    const other = await openRig('azure', { settings: 'managed', environment: abroad });
    await assert.rejects(other.current(), /not set up/, host);
  }
});

test('a managed identity of an instance: found once, then asked; absent, it costs a second once', async (context) => {
  const stub = await startAzure(context);
  const environment = { AZURE_POD_IDENTITY_AUTHORITY_HOST: stub.url };
  const rig = await openRig('azure', { settings: 'managed', environment });
  assert.equal(rig.status().name, 'managed identity of the instance');
  assert.equal(await tokenOf(rig), 'Bearer token-2');
  const paths = stub.calls.map(({ path, headers }) => [path.split('?')[0], headers.metadata]);
  const path = '/metadata/identity/oauth2/token';
  assert.deepEqual(paths, [
    [path, undefined],
    [path, 'true'],
  ]);
  stub.mode = 'silent';
  const absent = await openRig('azure', { settings: 'managed', environment });
  const first = absent.current();
  while (stub.calls.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
  absent.clock.advance(1000);
  await assert.rejects(first, /the instance metadata service did not answer \(timeout\)/);
  absent.clock.advance(5000);
  await assert.rejects(absent.current(), /did not answer/);
  assert.equal(stub.calls.length, 3);
});

test('a refusal has its name and no secret; a tenant is no path', async (context) => {
  const stub = await startAzure(context);
  const environment = { AZURE_AUTHORITY_HOST: stub.url };
  const rig = await openRig('azure', { settings: { ...APPLICATION, client_id: 'refused' }, environment });
  await assert.rejects(rig.current(), (error: Error) => {
    assert.match(error.message, /Microsoft Entra refused with status 401, invalid_client\./);
    assert.ok(!JSON.stringify([error.message, rig.status(), rig.failures]).includes(PLANTED));
    return true;
  });
  const odd = await openRig('azure', { settings: { ...APPLICATION, tenant_id: '../x' }, environment });
  await assert.rejects(odd.current(), /not set up/);
  assert.equal(stub.calls.length, 1);
});

test('a token that no header can carry is none, and the one before it serves on', async (context) => {
  let token = 'token-1';
  const stub = await startStub(() => ({ body: { access_token: token, expires_in: 3600 } }));
  context.after(() => stub.close());
  const rig = await openRig('azure', { settings: APPLICATION, environment: { AZURE_AUTHORITY_HOST: stub.url } });
  assert.equal(await tokenOf(rig), 'Bearer token-1');
  rig.clock.advance(HOUR - 60_000);
  for (const odd of [`${PLANTED}\r\nhost: evil.test`, `${PLANTED}\u20ac`, `${PLANTED}\0`]) {
    token = odd;
    const { length } = rig.failures;
    assert.equal(await tokenOf(rig), 'Bearer token-1');
    for (let wait = 0; wait < 1000 && rig.failures.length === length; wait++)
      await new Promise((resolve) => setTimeout(resolve, 2));
    assert.equal(
      rig.failures.at(-1),
      'It has no credentials: the access token of Microsoft Entra has a character that no header may have.',
    );
    rig.clock.advance(5000);
  }
  rig.clock.advance(HOUR);
  await assert.rejects(rig.current(), (error: Error) => !error.message.includes(PLANTED));
});
