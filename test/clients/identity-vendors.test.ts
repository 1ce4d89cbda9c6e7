/**
 * Libraries of AWS and Google with the same variables, files and servers as the gateway: they ask for the same, and get the
 * same, so that the servers of the tests are not the gateway's own belief.
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { awsDomainOf, regionIn } from '../../src/core/aws-signature.ts';
import type { IdentityVendor } from '../../src/core/credential.ts';
import { openIdentity } from '../../src/identity/index.ts';
import { folderOf } from '../identity/rig.ts';
import type { Stub } from '../identity/stub.ts';
import { startAws, startGoogle } from '../identity/vendors.ts';

const load = createRequire(import.meta.url);
const ROLE = 'arn:aws:iam::123456789012:role/gateway';

/** The libraries read the environment of the process. */
function setEnvironment(context: TestContext, environment: Record<string, string>): void {
  const before = { ...process.env };
  context.after(() => {
    for (const name of Object.keys(environment)) delete process.env[name];
    Object.assign(process.env, before);
  });
  Object.assign(process.env, environment);
}

async function ofGateway(vendor: IdentityVendor, environment: Record<string, string>) {
  const lookUp = (name: string) => ({ value: environment[name] });
  const { source } = await openIdentity({ vendor, settings: 'auto', lookUp, baseUrl: '' });
  return source.current();
}

/** What was asked, without what differs by library. */
function asked({ calls }: Stub): unknown[] {
  return calls.map(({ method, path, headers, form }) => {
    const { RoleSessionName, DurationSeconds, ...members } = form;
    const own = [
      'authorization',
      'x-aws-ec2-metadata-token',
      'x-aws-ec2-metadata-token-ttl-seconds',
      'metadata-flavor',
    ];
    const sent = own.flatMap((name) => (name in headers ? [[name, headers[name]]] : []));
    // What is signed differs by its headers and its time.
    const shown = sent.map(([name, value]) => [
      name,
      String(value).replace(/^AWS4-HMAC-SHA256 Credential=(\w+).*/, '$1'),
    ]);
    return { method, path, shown, members };
  });
}

const CASES: [name: string, environment: (url: string, folder: string) => Record<string, string>][] = [
  [
    'web identity',
    (url, folder) => ({
      AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, 'token'),
      AWS_ROLE_ARN: ROLE,
      AWS_REGION: 'eu-west-1',
      AWS_ENDPOINT_URL_STS: url,
    }),
  ],
  [
    'a container',
    (url, folder) => ({
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/container`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: join(folder, 'token'),
    }),
  ],
  ['instance metadata', (url) => ({ AWS_EC2_METADATA_SERVICE_ENDPOINT: url })],
  [
    'a profile with a role',
    (url, folder) => ({ AWS_CONFIG_FILE: join(folder, 'config'), AWS_PROFILE: 'work', AWS_ENDPOINT_URL_STS: url }),
  ],
];

for (const [name, environmentOf] of CASES) {
  test(`AWS: ${name}`, async (context) => {
    const { defaultProvider } = load('@aws-sdk/credential-provider-node');
    const folder = folderOf(context, { token: 'token-of-file' });
    writeFileSync(
      join(folder, 'config'),
      `[profile keys]\naws_access_key_id = AKIAKEYS\naws_secret_access_key = secret\n[profile work]\nregion = eu-west-1\nrole_arn = ${ROLE}\nsource_profile = keys\nexternal_id = outside\n`,
    );
    const [theirs, ours] = [await startAws(context, Date.now()), await startAws(context, Date.now())];
    const home = { HOME: folder, AWS_SHARED_CREDENTIALS_FILE: join(folder, 'absent') };
    setEnvironment(context, { ...home, ...environmentOf(theirs.url, folder) });
    const keys = await defaultProvider()();
    const sent = await ofGateway('aws', { ...home, ...environmentOf(ours.url, folder) });
    assert.deepEqual(sent, {
      type: 'key-pair',
      id: keys.accessKeyId,
      secret: keys.secretAccessKey,
      sessionToken: keys.sessionToken,
    });
    assert.deepEqual(asked(ours), asked(theirs));
  });
}

test('AWS: the domain of every region, and the region in every host', () => {
  const { partition } = load('@aws-sdk/core/client');
  const regions = ['us-east-1', 'ap-southeast-7', 'mx-central-1', 'us-gov-west-1', 'cn-northwest-1', 'eusc-de-east-1'];
  regions.push('us-iso-west-1', 'us-isob-east-1', 'us-isof-south-1', 'eu-isoe-west-1');
  for (const region of regions) {
    const { dnsSuffix, dualStackDnsSuffix } = partition(region);
    assert.equal(awsDomainOf(region), dnsSuffix, region);
    const hosts = [`bedrock-runtime.${region}.${dnsSuffix}`, `bedrock-runtime-fips.${region}.${dualStackDnsSuffix}`];
    hosts.push(`vpce-0a1b-${region}a.bedrock-runtime.${region}.vpce.${dnsSuffix}`, `bedrock.${region}.corp.test:8443`);
    for (const host of hosts) assert.equal(regionIn(`https://${host}/openai/v1`), region, host);
  }
  for (const host of ['localhost:1', '127.0.0.1', 'bedrock.corp.test'])
    assert.equal(regionIn(`http://${host}`), undefined);
});

test('AWS: names of hosts are not taken for regions, and a whole label comes before a part of one', () => {
  const regions: Record<string, string | undefined> = {
    'aws-gw-1.corp.example': undefined,
    'my-bedrock-2.internal': undefined,
    'llm-proxy-1': undefined,
    'bedrock-proxy-01.corp.example': undefined,
    'us-proxy-1.corp.example': undefined,
    'bedrock-runtime.local.example': undefined,
    'dev-llm-1.bedrock-runtime.us-west-2.vpce.example': 'us-west-2',
    'eu-west-1.bedrock-runtime.us-west-2.proxy.example': 'us-west-2',
    'eu-west-1-llm.us-west-2.proxy.example': 'us-west-2',
    'api-eu-west-1.example.com': 'eu-west-1',
    'eu-west-1-api.example.com': 'eu-west-1',
    'bedrock-us-gov-east-1.corp.example': 'us-gov-east-1',
    'bedrock-eusc-de-east-1': 'eusc-de-east-1',
    'bedrock-runtime.xx-newest-1.amazonaws.com': 'xx-newest-1',
    'vpce-1.bedrock-runtime.ap-southeast-2.x': 'ap-southeast-2',
  };
  for (const [host, region] of Object.entries(regions)) assert.equal(regionIn(`https://${host}`), region, host);
});

const FILES: [type: string, file: (url: string, folder: string) => object][] = [
  [
    'external_account of a file',
    (url, folder) => ({
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/provider',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `${url}/v1/token`,
      credential_source: { file: join(folder, 'token') },
    }),
  ],
  [
    'external_account of an address, acting as an account',
    (url) => ({
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/provider',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `${url}/v1/token`,
      client_id: 'client',
      client_secret: 'secret',
      service_account_impersonation_url: `${url}/v1/projects/-/serviceAccounts/sa@p:generateAccessToken`,
      credential_source: {
        url: `${url}/subject`,
        headers: { x: 'y' },
        format: { type: 'json', subject_token_field_name: 'deep' },
      },
    }),
  ],
];

for (const [name, fileOf] of FILES) {
  test(`Google: ${name}`, async (context) => {
    const { GoogleAuth } = load('google-auth-library');
    const folder = folderOf(context, { token: 'token-of-file' });
    const [theirs, ours] = [await startGoogle(context, Date.now()), await startGoogle(context, Date.now())];
    const write = (file: string, { url }: Stub) => {
      writeFileSync(join(folder, file), JSON.stringify(fileOf(url, folder)));
      return { HOME: folder, GOOGLE_APPLICATION_CREDENTIALS: join(folder, file) };
    };
    setEnvironment(context, { ...write('theirs', theirs), GOOGLE_CLOUD_PROJECT: 'known' });
    const token = await new GoogleAuth({ scopes: 'https://www.googleapis.com/auth/cloud-platform' }).getAccessToken();
    const sent = await ofGateway('google', write('ours', ours));
    assert.deepEqual(sent, { type: 'headers', headers: { authorization: `Bearer ${token}` } });
    assert.deepEqual(asked(ours), asked(theirs));
  });
}

test('Google: the metadata server', async (context) => {
  const { GoogleAuth } = load('google-auth-library');
  const [theirs, ours] = [await startGoogle(context, Date.now()), await startGoogle(context, Date.now())];
  const HOME = folderOf(context);
  setEnvironment(context, { HOME, GCE_METADATA_HOST: theirs.url, GOOGLE_CLOUD_PROJECT: 'known' });
  const token = await new GoogleAuth().getAccessToken();
  assert.match(token, /^token-/);
  assert.equal((await ofGateway('google', { HOME, GCE_METADATA_HOST: ours.url })).type, 'headers');
  const paths = (stub: Stub) => new Set(stub.calls.map(({ path }) => path.split('?')[0]));
  for (const path of paths(ours)) assert.ok(paths(theirs).has(path), path);
});
