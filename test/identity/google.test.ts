/** Identities of Google: each type of file, the metadata server, their order, and what fails. */

import assert from 'node:assert/strict';
import { createVerify, generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openIdentity } from '../../src/identity/index.ts';
import { vertex } from '../../src/providers/vertex.ts';
import { folderOf, type IdentityRig, openRig, type RigOptions } from './rig.ts';
import { type Stub, startStub } from './stub.ts';
import { PLANTED, GOOGLE_SCOPE as SCOPE, startGoogle } from './vendors.ts';

const MINUTE = 60_000;

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ACCOUNT = {
  type: 'service_account',
  client_email: 'gateway@my-project.iam.gserviceaccount.com',
  private_key_id: 'key-1',
  private_key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
};

function openGoogle(context: TestContext, { environment = {}, ...options }: RigOptions): Promise<IdentityRig> {
  const HOME = environment.HOME ?? folderOf(context);
  return openRig('google', { ...options, environment: { ...environment, HOME } });
}

function openFile(context: TestContext, file: object, environment = {}): Promise<IdentityRig> {
  const path = join(folderOf(context, { 'credentials.json': JSON.stringify(file) }), 'credentials.json');
  return openGoogle(context, { settings: { file: path }, environment });
}

async function headersOf(rig: IdentityRig): Promise<Readonly<Record<string, string>>> {
  const sent = await rig.current();
  assert.equal(sent.type, 'headers');
  return sent.type === 'headers' ? sent.headers : {};
}

const user = (stub: Stub, more = {}) => ({
  ...{ type: 'authorized_user', client_id: 'client', client_secret: PLANTED, refresh_token: `${PLANTED}-refresh` },
  ...{ token_uri: `${stub.url}/token`, quota_project_id: 'billed' },
  ...more,
});

test('the metadata server: it is found once, then asked for tokens', async (context) => {
  const stub = await startGoogle(context);
  for (const host of [stub.url, stub.url.slice('http://'.length)]) {
    stub.calls.length = 0;
    const rig = await openGoogle(context, { environment: { GCE_METADATA_HOST: host } });
    assert.deepEqual(rig.status(), { name: 'the metadata server' });
    assert.equal(stub.calls.length, 0);
    assert.deepEqual(await headersOf(rig), { authorization: 'Bearer token-2' });
    rig.clock.advance(56 * MINUTE);
    assert.deepEqual(await headersOf(rig), { authorization: 'Bearer token-2' }, 'nobody waits for the next one');
    while ((await headersOf(rig)).authorization === 'Bearer token-2') await new Promise(setImmediate);
    const paths = stub.calls.map(({ path }) => path.slice('/computeMetadata/v1/instance'.length));
    const token = '/service-accounts/default/token';
    assert.deepEqual(paths, ['', token, token]);
  }
});

test('a metadata server that does not answer costs a second, once; another server is none', async (context) => {
  const stub = await startGoogle(context);
  stub.mode = 'silent';
  const rig = await openGoogle(context, { environment: { GCE_METADATA_HOST: stub.url } });
  const first = rig.current();
  while (stub.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  rig.clock.advance(1000);
  await assert.rejects(first, /the metadata server did not answer \(timeout\)/);
  for (let second = 0; second < 50; second++) {
    rig.clock.advance(1000);
    await assert.rejects(rig.current(), /did not answer/);
  }
  assert.equal(stub.calls.length, 1);
  stub.mode = 'garbage';
  const other = await openGoogle(context, { environment: { GCE_METADATA_HOST: stub.url } });
  await assert.rejects(other.current(), /what answered is not the metadata server of Google/);
  const evil = await openGoogle(context, { environment: { GCE_METADATA_HOST: 'metadata.evil.test' } });
  await assert.rejects(evil.current(), /they are not set up/);
});

test('authorized_user: the refresh token is exchanged, and the quota project is named', async (context) => {
  const stub = await startGoogle(context);
  const rig = await openFile(context, user(stub));
  assert.deepEqual(await headersOf(rig), { authorization: 'Bearer token-1', 'x-goog-user-project': 'billed' });
  const { form } = stub.calls[0] ?? {};
  const asked = { grant_type: 'refresh_token', client_id: 'client', client_secret: PLANTED };
  assert.deepEqual(form, { ...asked, refresh_token: `${PLANTED}-refresh` });
  const other = await openFile(context, user(stub), { GOOGLE_CLOUD_QUOTA_PROJECT: 'other' });
  assert.equal((await headersOf(other))['x-goog-user-project'], 'other');
  const revoked = await openFile(context, user(stub, { refresh_token: 'revoked' }));
  await assert.rejects(revoked.current(), (error: Error) => {
    assert.match(error.message, /the token endpoint of Google refused with status 400, invalid_grant\./);
    assert.ok(!error.message.includes(PLANTED));
    return true;
  });
});

test('a token or quota project with a character that no header may have is named by its place', async (context) => {
  const stub = await startStub(() => ({ body: { access_token: `${PLANTED}\u20ac`, expires_in: 3600 } }));
  context.after(() => stub.close());
  const odd = 'billed\u20ac';
  for (const [file, environment, place] of [
    [{}, {}, /^the access token of .+/],
    [{ quota_project_id: odd }, {}, /^quota_project_id of .+/],
    [{}, { GOOGLE_CLOUD_QUOTA_PROJECT: odd }, /^GOOGLE_CLOUD_QUOTA_PROJECT$/],
  ] as const) {
    const rig = await openFile(context, user(stub, file), environment);
    await assert.rejects(rig.current(), /they have a character that no header may have/);
    const [, named = ''] =
      /^It has no credentials: (.+) has a character that no header may have\.$/.exec(rig.failures.at(-1) ?? '') ?? [];
    assert.match(named, place);
    assert.ok(!named.includes(PLANTED) && !named.includes(odd));
  }
});

test('service_account: it signs its tokens itself, as the key in the configuration does', async (context) => {
  const path = join(folderOf(context, { 'key.json': JSON.stringify(ACCOUNT) }), 'key.json');
  const { readKey } = vertex;
  const identity = await openIdentity({
    ...{ vendor: 'google', settings: { file: path }, baseUrl: '' },
    ...(readKey && { readKey }),
    lookUp: () => ({ value: undefined }),
  });
  assert.equal(identity.status().name, `service_account of ${path}`);
  const sent = await identity.source.current();
  const [, token = ''] = sent.type === 'headers' ? (sent.headers.authorization ?? '').split(' ') : [];
  const [head, claims, signature = ''] = token.split('.');
  assert.ok(createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(publicKey, signature, 'base64url'));
  assert.equal(await identity.source.current(), sent, 'one token is used for all');
});

const external = (stub: Stub, source: object, more = {}) => ({
  type: 'external_account',
  audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/provider',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  token_url: `${stub.url}/v1/token`,
  credential_source: source,
  ...more,
});

test('external_account: the subject token of a file, read anew each time, is exchanged', async (context) => {
  const stub = await startGoogle(context);
  const file = join(folderOf(context, { token: 'first\n' }), 'token');
  const rig = await openFile(context, external(stub, { file }));
  assert.deepEqual(await headersOf(rig), { authorization: 'Bearer token-1' });
  const form = stub.calls[0]?.form ?? {};
  assert.equal(form.grant_type, 'urn:ietf:params:oauth:grant-type:token-exchange');
  assert.equal(form.requested_token_type, 'urn:ietf:params:oauth:token-type:access_token');
  assert.deepEqual([form.subject_token, form.scope, form.options], ['first', SCOPE, undefined]);
  assert.match(form.audience ?? '', /^\/\/iam\.googleapis\.com\//);
  writeFileSync(file, 'second');
  rig.clock.advance(60 * MINUTE);
  await headersOf(rig);
  assert.equal(stub.calls[1]?.form.subject_token, 'second');
});

test('external_account: that of an address in JSON, with a client, then an account to act as', async (context) => {
  const stub = await startGoogle(context);
  const format = { type: 'json', subject_token_field_name: 'deep' };
  const more = {
    ...{ client_id: 'id', client_secret: PLANTED, delegates: ['one'] },
    service_account_impersonation_url: `${stub.url}/v1/projects/-/serviceAccounts/sa@p:generateAccessToken`,
  };
  const rig = await openFile(
    context,
    external(stub, { url: `${stub.url}/subject`, headers: { x: 'y' }, format }, more),
  );
  assert.deepEqual(await headersOf(rig), { authorization: 'Bearer acted Bearer token-2' });
  assert.equal(stub.calls[1]?.form.subject_token, `${PLANTED}-subject`);
  assert.equal(stub.calls[1]?.headers.authorization, `Basic ${Buffer.from(`id:${PLANTED}`).toString('base64')}`);
  const pool = external(stub, { url: `${stub.url}/subject`, format }, { workforce_pool_user_project: 'p' });
  await headersOf(await openFile(context, pool));
  assert.equal(stub.calls.at(-1)?.form.options, '{"userProject":"p"}');
});

test('impersonated_service_account: the token of its source asks for that of the account', async (context) => {
  const stub = await startGoogle(context);
  const rig = await openFile(context, {
    type: 'impersonated_service_account',
    source_credentials: user(stub),
    delegates: ['one'],
    service_account_impersonation_url: `${stub.url}/v1/projects/-/serviceAccounts/sa@p:generateAccessToken`,
  });
  assert.deepEqual(await headersOf(rig), { authorization: 'Bearer acted Bearer token-1' });
});

test('the order: the file of the variable, that of gcloud, the metadata server', async (context) => {
  const stub = await startGoogle(context);
  const HOME = folderOf(context);
  mkdirSync(join(HOME, '.config/gcloud'), { recursive: true });
  const gcloud = join(HOME, '.config/gcloud/application_default_credentials.json');
  writeFileSync(gcloud, JSON.stringify(user(stub)));
  const file = join(HOME, 'own.json');
  writeFileSync(file, JSON.stringify(external(stub, { file })));
  const nameWith = async (environment: Record<string, string>) => (await openGoogle(context, { environment })).status();
  const all = { HOME, GOOGLE_APPLICATION_CREDENTIALS: file, GCE_METADATA_HOST: stub.url };
  assert.equal((await nameWith(all)).name, `external_account of GOOGLE_APPLICATION_CREDENTIALS, ${file}`);
  assert.equal((await nameWith({ HOME })).name, `authorized_user of ${gcloud}`);
  assert.equal((await nameWith({ CLOUDSDK_CONFIG: HOME })).name, 'the metadata server');
  assert.match((await nameWith({ METADATA_SERVER_DETECTION: 'none' })).problem ?? '', /the metadata server is off/);
  const absent = await nameWith({ HOME, GOOGLE_APPLICATION_CREDENTIALS: join(HOME, 'absent') });
  assert.match(absent.problem ?? '', /absent does not exist/, 'a file that is named has to be there');
});

test('files that cannot be used say why, without their content', async (context) => {
  const stub = await startGoogle(context);
  const cases: [file: object | string, problem: RegExp][] = [
    ['no JSON', /is no JSON object/],
    [{ type: PLANTED }, /is not of a type that is supported/],
    [external(stub, { executable: { command: PLANTED } }), /must be a file or a url/],
    [external(stub, { environment_id: 'aws1', regional_cred_verification_url: PLANTED }), /must be a file or a url/],
  ];
  for (const [file, problem] of cases) {
    const rig = await openFile(context, file as object);
    assert.match(rig.status().problem ?? '', problem);
    assert.ok(!JSON.stringify(rig.status()).includes(PLANTED));
  }
  const incomplete = await openFile(context, { type: 'authorized_user', client_id: PLANTED });
  await assert.rejects(incomplete.current(), /they are not set up/);
  assert.match(incomplete.status().problem ?? '', /has no client_secret/);
  const broken = await openFile(context, { ...ACCOUNT, private_key: PLANTED });
  await assert.rejects(broken.current());
  assert.match(broken.status().problem ?? '', /is no valid key of a service account/);
  const abroad = await openFile(context, user(stub, { token_uri: 'http://oauth.evil.test/' }));
  await assert.rejects(abroad.current());
  assert.match(abroad.status().problem ?? '', /must begin with https/);
});
