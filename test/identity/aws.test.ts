/** Identities of AWS: each source alone, their order, and what fails. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { processSource } from '../../src/identity/aws/process.ts';
import { folderOf, type IdentityRig, inMs, openRig, type RigOptions, START } from './rig.ts';
import { type Stub, startStub } from './stub.ts';
import { PLANTED, startAws } from './vendors.ts';

const HOUR = 3_600_000;
const ROLE = 'arn:aws:iam::123456789012:role/gateway';

/** Without files of this machine. */
function openAws(context: TestContext, { environment = {}, ...options }: RigOptions): Promise<IdentityRig> {
  const HOME = environment.HOME ?? folderOf(context);
  return openRig('aws', { ...options, environment: Object.assign(environment, { HOME }) });
}

const ENVIRONMENT = { AWS_ACCESS_KEY_ID: 'AKIAENV', AWS_SECRET_ACCESS_KEY: PLANTED };

test('variables are taken as they are, with a session token', async (context) => {
  const rig = await openAws(context, { environment: { ...ENVIRONMENT, AWS_SESSION_TOKEN: 'token' } });
  assert.deepEqual(await rig.current(), { type: 'key-pair', id: 'AKIAENV', secret: PLANTED, sessionToken: 'token' });
  assert.deepEqual(rig.status(), { name: 'environment (AWS_ACCESS_KEY_ID)' });
});

test('the end of a line in a variable, as secrets of Kubernetes often have it, is left out', async (context) => {
  const environment = {
    AWS_ACCESS_KEY_ID: 'AKIAENV\n',
    AWS_SECRET_ACCESS_KEY: `${PLANTED}\n`,
    AWS_SESSION_TOKEN: ' \n',
  };
  const rig = await openAws(context, { environment });
  assert.deepEqual(await rig.current(), { type: 'key-pair', id: 'AKIAENV', secret: PLANTED });
});

test('a session token with a line break inside is a reason, and not sent', async (context) => {
  const rig = await openAws(context, { environment: { ...ENVIRONMENT, AWS_SESSION_TOKEN: `to\n${PLANTED}` } });
  await assert.rejects(rig.current(), /they have a character that no header may have/);
  assert.equal(
    rig.failures.at(-1),
    'It has no credentials: AWS_SESSION_TOKEN has a character that no header may have.',
  );
});

test('a key with a character that no header may have is named by its place, without its value', async (context) => {
  const odd = (name: string) => `[${name}]\naws_access_key_id = AKIA${PLANTED}\u20ac\naws_secret_access_key = x\n`;
  const folder = folderOf(context, {
    'program.mjs': PROGRAM.replace('of a program', `${PLANTED}\u20ac`),
    credentials: odd('keys'),
  });
  const program = `"${process.execPath}" ${join(folder, 'program.mjs')} plain`;
  writeFileSync(join(folder, 'config'), `[profile process]\ncredential_process = ${program}\n`);
  const files = {
    AWS_CONFIG_FILE: join(folder, 'config'),
    AWS_SHARED_CREDENTIALS_FILE: join(folder, 'credentials'),
  };
  const container = await startStub(() => {
    const Expiration = inMs(HOUR);
    return { body: { AccessKeyId: 'ASIA', SecretAccessKey: 'x', Token: `${PLANTED}\u20ac`, Expiration } };
  });
  context.after(() => container.close());
  const places: [settings: RigOptions['settings'], environment: Record<string, string>, place: string][] = [
    ['auto', { ...ENVIRONMENT, AWS_ACCESS_KEY_ID: `${PLANTED}\u20ac` }, 'AWS_ACCESS_KEY_ID'],
    [{ profile: 'keys' }, files, 'aws_access_key_id of the profile "keys"'],
    [{ profile: 'process' }, files, 'SessionToken of the program of credential_process'],
    [
      'auto',
      { AWS_CONTAINER_CREDENTIALS_FULL_URI: container.url },
      'Token of the credentials endpoint of the container',
    ],
  ];
  for (const [settings, environment, place] of places) {
    const rig = await openAws(context, { settings, environment });
    await assert.rejects(rig.current(), (error: Error) => {
      assert.match(error.message, /they have a character that no header may have/);
      assert.ok(!error.message.includes(PLANTED) && !error.message.includes(place));
      return true;
    });
    assert.equal(rig.failures.at(-1), `It has no credentials: ${place} has a character that no header may have.`);
  }
});

test('one variable without the other is an error that names both', async (context) => {
  const rig = await openAws(context, { environment: { AWS_ACCESS_KEY_ID: 'AKIAENV' } });
  assert.match(rig.status().problem ?? '', /AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/);
});

test('web identity: the token file is read anew for each renewal, and the request is not signed', async (context) => {
  const stub = await startAws(context);
  const file = join(folderOf(context, { token: 'one\n' }), 'token');
  const environment = {
    AWS_WEB_IDENTITY_TOKEN_FILE: file,
    AWS_ROLE_ARN: ROLE,
    AWS_ROLE_SESSION_NAME: 'pod',
    AWS_ENDPOINT_URL_STS: stub.url,
  };
  const rig = await openAws(context, { environment });
  assert.deepEqual(rig.status(), { name: 'web identity (AWS_WEB_IDENTITY_TOKEN_FILE)' });
  assert.equal(stub.calls.length, 0, 'nothing is asked before the first request');
  const keys = await rig.current();
  const sessionToken = 'session of AssumeRoleWithWebIdentity';
  assert.deepEqual(keys, { type: 'key-pair', id: 'ASIA1', secret: `${PLANTED}-1`, sessionToken });
  const [call] = stub.calls;
  assert.equal(call?.headers.authorization, undefined);
  const asked = { Action: 'AssumeRoleWithWebIdentity', Version: '2011-06-15', RoleArn: ROLE, RoleSessionName: 'pod' };
  assert.deepEqual(call?.form, { ...asked, WebIdentityToken: 'one' });
  writeFileSync(file, 'two');
  rig.clock.advance(HOUR);
  await assert.rejects(rig.current(), /expired by the clock of this machine/);
  assert.equal(stub.calls[1]?.form.WebIdentityToken, 'two');
});

test('1,000 requests at once cause one renewal; an early one lets nobody wait, and its failure is told to nobody', async (context) => {
  const stub = await startAws(context);
  const environment = { AWS_CONTAINER_CREDENTIALS_FULL_URI: `${stub.url}/container` };
  const { source, clock, failures } = await openAws(context, { environment });
  const all = await Promise.all(Array.from({ length: 1000 }, async () => source.current()));
  assert.equal(new Set(all).size, 1);
  assert.equal(stub.calls.length, 1);
  stub.mode = 'failing';
  clock.advance(HOUR - 4 * 60_000);
  for (let request = 0; request < 100; request++) assert.equal(source.current(), all[0]);
  await waitFor(() => failures.length === 1);
  assert.equal(stub.calls.length, 2);
  assert.equal(source.current(), all[0], 'during the backoff nobody is asked');
  assert.equal(stub.calls.length, 2);
  clock.advance(4 * 60_000);
  await assert.rejects(
    async () => source.current(),
    (error: Error) => {
      assert.match(
        error.message,
        /No credentials .* the credentials endpoint of the container refused with status 500/,
      );
      assert.ok(!error.message.includes(PLANTED));
      return true;
    },
  );
});

test('container: the authorization token is that of its file, and the address is checked', async (context) => {
  const stub = await startAws(context);
  const file = join(folderOf(context, { token: 'pod-token\n' }), 'token');
  const environment = {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${stub.url}/container`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: 'not this one',
  };
  const rig = await openAws(context, { environment });
  const keys = await rig.current();
  assert.equal(keys.type === 'key-pair' && keys.sessionToken, 'container pod-token');
  for (const url of [
    'http://10.0.0.7/keys',
    'http://169.254.169.254/keys',
    'http://localhost.evil.test/',
    'ftp://x',
    'no',
  ]) {
    const other = await openAws(context, { environment: { AWS_CONTAINER_CREDENTIALS_FULL_URI: url } });
    await assert.rejects(other.current(), /No credentials for the upstream could be had: they are not set up\./, url);
    assert.match(other.status().problem ?? '', /must begin with https, or be that of this machine/);
  }
});

test('instance metadata: a session first, then the role and its keys', async (context) => {
  const stub = await startAws(context);
  const rig = await openAws(context, { environment: { AWS_EC2_METADATA_SERVICE_ENDPOINT: `${stub.url}/` } });
  const keys = await rig.current();
  assert.equal(keys.type === 'key-pair' && keys.sessionToken, 'imds');
  assert.deepEqual(
    stub.calls.map(({ method, path }) => `${method} ${path}`),
    [
      'PUT /latest/api/token',
      'GET /latest/meta-data/iam/security-credentials/',
      'GET /latest/meta-data/iam/security-credentials/role-of-instance',
    ],
  );
});

test('instance metadata that does not answer costs a second, once', async (context) => {
  const stub = await startAws(context);
  stub.mode = 'silent';
  const rig = await openAws(context, { environment: { AWS_EC2_METADATA_SERVICE_ENDPOINT: stub.url } });
  const first = rig.current();
  await waitFor(() => stub.calls.length === 1);
  rig.clock.advance(1000);
  await assert.rejects(first, /the instance metadata service did not answer \(timeout\)/);
  for (let second = 0; second < 50; second++) {
    rig.clock.advance(1000);
    await assert.rejects(rig.current(), /did not answer/);
  }
  assert.equal(stub.calls.length, 1);
  rig.clock.advance(60_000);
  stub.mode = 'well';
  assert.equal((await rig.current()).type, 'key-pair');
});

test('instance metadata that refuses is remembered with its reason, for a minute by any clock', async (context) => {
  const stub = await startAws(context);
  stub.mode = 'failing';
  const rig = await openAws(context, { environment: { AWS_EC2_METADATA_SERVICE_ENDPOINT: stub.url } });
  for (let attempt = 0; attempt < 3; attempt++) {
    await assert.rejects(rig.current(), /the instance metadata service refused with status 500/);
    rig.clock.advance(10_000);
  }
  assert.match(rig.status().problem ?? '', /refused with status 500/);
  assert.equal(stub.calls.length, 1);
  stub.mode = 'well';
  rig.clock.set(START - 24 * HOUR);
  rig.clock.advance(60_000);
  assert.equal((await rig.current()).type, 'key-pair');
});

test('AWS_EC2_METADATA_DISABLED leaves nothing', async (context) => {
  const rig = await openAws(context, { environment: { AWS_EC2_METADATA_DISABLED: 'true' } });
  assert.match(rig.status().problem ?? '', /instance metadata is off/);
});

const CONFIG = `
[default]
region = eu-west-1
s3 =
  max_concurrent_requests = 20
[profile work]
role_arn = ${ROLE}
source_profile = keys
external_id = outside ; a comment
duration_seconds = 900
[profile "with space"]
aws_access_key_id = AKIASPACE
aws_secret_access_key = ${PLANTED}/+=
[profile process]
credential_process = NODE PROGRAM plain 'of "two" words' "C:\\\\keys \\"x\\"" a\\ b
[profile failing]
credential_process = NODE PROGRAM fail
[profile sso]
sso_session = corp
[profile self]
role_arn = ${ROLE}
source_profile = self
aws_access_key_id = AKIASELF
aws_secret_access_key = ${PLANTED}
[profile loop]
role_arn = ${ROLE}
source_profile = other
[profile other]
role_arn = ${ROLE}
source_profile = loop
[profile named]
role_arn = ${ROLE}
credential_source = Environment
[profile mfa]
role_arn = ${ROLE}
source_profile = keys
mfa_serial = arn:aws:iam::1:mfa/me
[profile pod]
role_arn = ${ROLE}
web_identity_token_file = TOKEN_FILE
`;
const CREDENTIALS = `
# keys
[keys]
aws_access_key_id=AKIAKEYS
aws_secret_access_key=${PLANTED}
`;

/** Shared files, and variables that name them. */
function sharedFiles(context: TestContext, stub: Stub): Record<string, string> {
  const folder = folderOf(context, { credentials: CREDENTIALS, token: 'of the file' });
  writeFileSync(join(folder, 'config'), CONFIG.replace('TOKEN_FILE', join(folder, 'token')));
  return {
    AWS_CONFIG_FILE: join(folder, 'config'),
    AWS_SHARED_CREDENTIALS_FILE: join(folder, 'credentials'),
    AWS_ENDPOINT_URL_STS: stub.url,
  };
}

test('profiles: keys, roles by another profile, by themselves, by the environment and by web identity', async (context) => {
  const stub = await startAws(context);
  const files = sharedFiles(context, stub);
  const idOf = async (profile: string, more = {}) => {
    const rig = await openAws(context, { settings: { profile }, environment: { ...files, ...more } });
    assert.equal(rig.status().name, `profile "${profile}"`);
    const keys = await rig.current();
    return keys.type === 'key-pair' ? keys.id : undefined;
  };
  assert.equal(await idOf('keys', ENVIRONMENT), 'AKIAKEYS', 'a profile by name wins over variables');
  assert.equal(await idOf('with space'), 'AKIASPACE');
  assert.match((await idOf('work')) ?? '', /^ASIA/);
  const role = stub.calls.at(-1);
  assert.deepEqual(
    [role?.form.Action, role?.form.ExternalId, role?.form.DurationSeconds],
    ['AssumeRole', 'outside', '900'],
  );
  assert.match(role?.headers.authorization ?? '', /^AWS4-HMAC-SHA256 Credential=AKIAKEYS\/20261129\/us-east-1\/sts\//);
  await idOf('self');
  assert.match(stub.calls.at(-1)?.headers.authorization ?? '', /Credential=AKIASELF/);
  await idOf('named', ENVIRONMENT);
  assert.match(stub.calls.at(-1)?.headers.authorization ?? '', /Credential=AKIAENV/);
  await idOf('pod');
  assert.equal(stub.calls.at(-1)?.form.WebIdentityToken, 'of the file');
});

const PROGRAM = `
const [kind, ...words] = process.argv.slice(2);
process.stderr.write('${PLANTED}');
if (kind === 'fail') process.exit(1);
const Expiration = '${inMs(HOUR)}';
const keys = { AccessKeyId: 'ASIAPROCESS', SecretAccessKey: JSON.stringify(words), SessionToken: 'of a program' };
console.log(JSON.stringify({ Version: 1, ...keys, Expiration }));
`;

test('credential_process: a program prints the keys, and no shell runs it', async (context) => {
  const folder = folderOf(context, { 'program.mjs': PROGRAM });
  const program = `"${process.execPath}" ${join(folder, 'program.mjs')}`;
  writeFileSync(join(folder, 'config'), CONFIG.replaceAll('NODE PROGRAM', program));
  const environment = { AWS_CONFIG_FILE: join(folder, 'config') };
  const rig = await openAws(context, { settings: { profile: 'process' }, environment });
  assert.equal(rig.status().name, 'profile "process" (credential_process)');
  const secret = JSON.stringify(['of "two" words', 'C:\\keys "x"', 'a b']);
  const keys = { type: 'key-pair', id: 'ASIAPROCESS', secret, sessionToken: 'of a program' };
  assert.deepEqual(await rig.current(), keys);
  rig.clock.advance(HOUR);
  await assert.rejects(rig.current(), /expired by the clock/);
  const failing = await openAws(context, { settings: { profile: 'failing' }, environment });
  await assert.rejects(failing.current(), /the program of credential_process failed\.$/);
  assert.ok(!JSON.stringify([failing.status(), failing.failures]).includes(PLANTED));
});

const WAITING = `
import { writeFileSync } from 'node:fs';
writeFileSync(process.argv[2], String(process.pid));
setInterval(() => {}, 1000);
`;
/** A process that ends while the program of its first argument runs. */
const ENDING = `
import { existsSync } from 'node:fs';
import { processSource } from '${new URL('../../src/identity/aws/process.ts', import.meta.url)}';
const [, command, file] = process.argv;
processSource('p', command).issue(new AbortController().signal);
setInterval(() => existsSync(file) && process.exit(), 5);
`;

test('credential_process: a program does not outlive the gateway, and cannot wait for an input', async (context) => {
  const folder = folderOf(context, { 'program.mjs': WAITING, 'input.mjs': 'for await (const _ of process.stdin);' });
  const pidFile = join(folder, 'pid');
  const command = `"${process.execPath}" ${join(folder, 'program.mjs')} ${pidFile}`;
  execFileSync(process.execPath, ['--input-type=module', '-e', ENDING, command, pidFile], { timeout: 20_000 });
  const pid = Number(readFileSync(pidFile, 'utf8'));
  context.after(() => isRunning(pid) && process.kill(pid));
  for (let wait = 0; wait < 100 && isRunning(pid); wait++) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(isRunning(pid), false);
  const asking = processSource('p', `"${process.execPath}" ${join(folder, 'input.mjs')}`);
  await assert.rejects(asking.issue(AbortSignal.timeout(10_000)), /printed no keys/);
});

/** Starts the program of its first arguments, and waits for its end. */
const WRAPPING = `
import { spawn } from 'node:child_process';
const [, , ...command] = process.argv;
spawn(process.execPath, command, { stdio: 'inherit' });
`;

test('credential_process: what a program has started does not outlive it when it takes too long', async (context) => {
  const folder = folderOf(context, { 'program.mjs': WAITING, 'wrapper.mjs': WRAPPING });
  const pidFile = join(folder, 'pid');
  const words = ['wrapper.mjs', 'program.mjs', 'pid'].map((name) => join(folder, name));
  const timeout = new AbortController();
  const issued = processSource('p', `"${process.execPath}" ${words.join(' ')}`).issue(timeout.signal);
  const pid = await until(() => (existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : 0));
  context.after(() => isRunning(pid) && process.kill(pid));
  timeout.abort();
  await assert.rejects(issued, /the program of credential_process failed/);
  assert.equal(await until(() => !isRunning(pid)), true);
});

test('credential_process: a program that prints too much is ended', async (context) => {
  const chatty = "process.stdout.write('x'.repeat(70_000)); setInterval(() => {}, 1000);";
  const folder = folderOf(context, { 'program.mjs': chatty });
  const command = `"${process.execPath}" ${join(folder, 'program.mjs')}`;
  const issued = processSource('p', command).issue(AbortSignal.timeout(20_000));
  await assert.rejects(issued, /the program of credential_process failed/);
});

/** The first result that is true, within ten seconds; else the last one. */
async function until<Result>(read: () => Result): Promise<Result> {
  for (let wait = 0; wait < 200; wait++) {
    const found = read();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return read();
}

function isRunning(pid: number): boolean {
  try {
    // An ended process that nobody has waited for is a zombie.
    return process.kill(pid, 0) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

test('profiles that cannot be used say why', async (context) => {
  const stub = await startAws(context);
  const files = sharedFiles(context, stub);
  const cases: [profile: string, reason: RegExp][] = [
    ['sso', /"sso" uses sso_session, which is not supported/],
    ['mfa', /"mfa" uses mfa_serial/],
    ['loop', /is its own source_profile/],
    ['absent', /no credentials of a profile "absent"/],
    ['default', /no credentials of a profile "default"/],
  ];
  for (const [profile, reason] of cases) {
    const rig = await openAws(context, { settings: 'auto', environment: { ...files, AWS_PROFILE: profile } });
    assert.match(rig.status().problem ?? '', reason);
    await assert.rejects(rig.current(), /they are not set up\.$/);
  }
  assert.equal(stub.calls.length, 0);
});

test('shared files that belong to another user are none, unless a variable names them', async (context) => {
  const HOME = folderOf(context);
  // A file cannot be read as a folder, whoever asks.
  writeFileSync(join(HOME, '.aws'), '');
  const environment = { HOME, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2' };
  assert.match((await openAws(context, { environment })).status().name ?? '', /role of the container/);
  const AWS_CONFIG_FILE = join(HOME, '.aws', 'config');
  const named = await openAws(context, { environment: { ...environment, AWS_CONFIG_FILE } });
  assert.match(named.status().problem ?? '', /config cannot be read \(ENOTDIR\)/);
});

test('the order: variables, web identity, AWS_PROFILE, default profile, container, instance', async (context) => {
  const stub = await startAws(context);
  const folder = folderOf(context, { credentials: CREDENTIALS.replace('[keys]', '[default]') });
  const all: Record<string, string> = {
    ...ENVIRONMENT,
    AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, 'token'),
    AWS_ROLE_ARN: ROLE,
    AWS_SHARED_CREDENTIALS_FILE: join(folder, 'credentials'),
    AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/credentials',
    AWS_EC2_METADATA_SERVICE_ENDPOINT: stub.url,
  };
  const nameWithout = async (...names: string[]) => {
    for (const name of names) delete all[name];
    return (await openAws(context, { environment: { ...all } })).status().name;
  };
  assert.equal(await nameWithout(), 'environment (AWS_ACCESS_KEY_ID)');
  assert.equal(
    await nameWithout('AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'),
    'web identity (AWS_WEB_IDENTITY_TOKEN_FILE)',
  );
  assert.equal(await nameWithout('AWS_ROLE_ARN'), 'profile "default"');
  assert.equal(
    await nameWithout('AWS_SHARED_CREDENTIALS_FILE'),
    'role of the container (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI)',
  );
  assert.equal(await nameWithout('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'), 'role of the instance (IMDSv2)');
});

test('role_arn: the role is assumed with the keys of the chain, in the region of the environment or the address', async (context) => {
  const stub = await startAws(context);
  const settings = { role_arn: ROLE, external_id: 'outside', session_name: 'named' };
  const environment: Record<string, string> = { ...ENVIRONMENT, AWS_ENDPOINT_URL_STS: stub.url };
  const baseUrl = 'https://bedrock-runtime.eu-central-1.amazonaws.com';
  const rig = await openAws(context, { settings, environment, baseUrl });
  assert.equal(rig.status().name, 'role, assumed with: environment (AWS_ACCESS_KEY_ID)');
  await rig.current();
  const [call] = stub.calls;
  assert.deepEqual([call?.form.ExternalId, call?.form.RoleSessionName], ['outside', 'named']);
  assert.match(call?.headers.authorization ?? '', /\/eu-central-1\/sts\/aws4_request, SignedHeaders=host;x-amz-date,/);
  environment.AWS_REGION = 'ap-south-2';
  rig.clock.advance(HOUR - 60_000);
  await rig.current();
  await waitFor(() => stub.calls.length === 2);
  assert.match(stub.calls[1]?.headers.authorization ?? '', /\/ap-south-2\/sts\//);
  environment.AWS_REGION = '';
  const sovereign = 'https://bedrock-runtime.eusc-de-east-1.amazonaws.eu';
  await (await openAws(context, { settings, environment, baseUrl: sovereign })).current();
  assert.match(stub.calls[2]?.headers.authorization ?? '', /\/eusc-de-east-1\/sts\//);
  const odd = await openAws(context, { settings, environment: { ...ENVIRONMENT, AWS_REGION: 'evil.test/' } });
  await assert.rejects(odd.current(), /not set up/);
  assert.match(odd.status().problem ?? '', /the region of AWS is none/);
});

test('a role whose request is refused for its time is asked for again with the time of the service', async (context) => {
  const aws = await startAws(context);
  const late = HOUR / 2;
  const sts = await startStub(async ({ headers, text }) => {
    if (String(headers['x-amz-date']).startsWith('20261129T0030')) {
      const answer = await fetch(aws.url, { method: 'POST', body: new URLSearchParams(text) });
      return { body: await answer.text() };
    }
    const message = 'Signature expired: 20261129T000000Z is now earlier than 20261129T002500Z';
    const body = `<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code><Message>${message}</Message></Error></ErrorResponse>`;
    return { status: 403, headers: { date: new Date(START + late).toUTCString() }, body };
  });
  context.after(() => sts.close());
  const environment = { ...ENVIRONMENT, AWS_ENDPOINT_URL_STS: sts.url };
  const rig = await openAws(context, { settings: { role_arn: ROLE }, environment });
  const keys = await rig.current();
  assert.equal(keys.type === 'key-pair' && keys.sessionToken, 'session of AssumeRole');
  assert.equal(sts.calls.length, 2);
});

test('keys of a role have their whole life by a clock that is wrong by more than that', async (context) => {
  for (const ahead of [1.5 * HOUR, -1.5 * HOUR]) {
    const now = START - ahead;
    const aws = await startAws(context, now);
    const stamp = `${new Date(now).toISOString().slice(0, 16).replace(/[:-]/g, '')}00Z`;
    const sts = await startStub(async ({ headers, text }) => {
      if (headers['x-amz-date'] === stamp) {
        const answer = await fetch(aws.url, { method: 'POST', body: new URLSearchParams(text) });
        return { body: await answer.text() };
      }
      const body = '<ErrorResponse><Error><Code>RequestExpired</Code></Error></ErrorResponse>';
      return { status: 400, headers: { date: new Date(now).toUTCString() }, body };
    });
    context.after(() => sts.close());
    const environment = { ...ENVIRONMENT, AWS_ENDPOINT_URL_STS: sts.url };
    const { source, clock } = await openAws(context, { settings: { role_arn: ROLE }, environment });
    const keys = await source.current();
    assert.equal(keys.type === 'key-pair' && keys.id, 'ASIA1');
    clock.advance(HOUR - 6 * 60_000);
    assert.equal(source.current(), keys);
    assert.equal(sts.calls.length, 2);
    clock.advance(6 * 60_000);
    sts.mode = 'failing';
    await assert.rejects(async () => source.current(), /AWS STS refused with status 500/);
  }
});

test('a refusal of STS for another reason, or with a date far away, is a refusal', async (context) => {
  let refusal = { code: '', message: '', date: START };
  const sts = await startStub(() => {
    const { code, message, date } = refusal;
    const body = `<ErrorResponse><Error><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`;
    return { status: 403, headers: { date: new Date(date).toUTCString() }, body };
  });
  context.after(() => sts.close());
  const environment = { ...ENVIRONMENT, AWS_ENDPOINT_URL_STS: sts.url };
  const words = 'Signature expired: 20261129T000000Z';
  for (const other of [
    { code: 'AccessDenied', message: `${words}, RequestExpired`, date: START + HOUR },
    { code: 'SignatureDoesNotMatch', message: words, date: 8.64e15 },
    { code: 'SignatureDoesNotMatch', message: words, date: Date.UTC(2025, 0) },
  ]) {
    refusal = other;
    const rig = await openAws(context, { settings: { role_arn: ROLE }, environment });
    await assert.rejects(rig.current(), new RegExp(`AWS STS refused with status 403, ${other.code}`));
  }
  assert.equal(sts.calls.length, 3);
});

test('refusals, garbage and endless answers are reasons without a secret', async (context) => {
  const stub = await startAws(context);
  const settings = { role_arn: 'refused' };
  const environment = { ...ENVIRONMENT, AWS_ENDPOINT_URL_STS: stub.url };
  const refused = await openAws(context, { settings, environment });
  await assert.rejects(refused.current(), (error: Error) => {
    assert.match(error.message, /AWS STS refused with status 403, AccessDenied\./);
    assert.ok(!JSON.stringify([error.message, refused.status()]).includes(PLANTED));
    return true;
  });
  for (const [mode, reason] of [
    ['garbage', /the answer of AWS STS has no Expiration/],
    ['endless', /the answer of AWS STS is too long/],
  ] as const) {
    stub.mode = mode;
    const rig = await openAws(context, { settings: { role_arn: ROLE }, environment });
    await assert.rejects(rig.current(), reason);
    assert.match(rig.status().problem ?? '', reason);
  }
});

test('what is refused mid-life is asked for anew, once for all who had it; what is new is not', async (context) => {
  const stub = await startAws(context);
  const { source, clock } = await openAws(context, {
    environment: { AWS_CONTAINER_CREDENTIALS_FULL_URI: `${stub.url}/container` },
  });
  await source.current();
  assert.equal(source.refused(START), false, 'it was issued just now');
  clock.advance(60_000);
  const sentAt = clock.now();
  assert.equal(source.refused(sentAt), true);
  assert.equal(source.refused(sentAt), true, 'another request had it too');
  clock.advance(100);
  await source.current();
  assert.equal(source.refused(sentAt), true, 'a late answer to a request that had the old one');
  assert.equal(source.refused(clock.now()), false);
  assert.equal(stub.calls.length, 2);
});

async function waitFor(isThere: () => boolean): Promise<void> {
  while (!isThere()) await new Promise((resolve) => setTimeout(resolve, 5));
}
