/** Identities of providers in the configuration: their forms, what conflicts with them, and their masks. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { effectiveSettings } from '../../src/config/effective.ts';
import { parseConfig } from '../../src/config/load.ts';
import { describeConfig } from '../../src/config/mask.ts';
import type { Config, ReadyProvider } from '../../src/config/resolved.ts';
import type { ProviderType } from '../../src/core/provider.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { Secret } from '../../src/security/secret.ts';

const SECRET = 'PLANTED-secret-of-an-application';
const AZURE = `{ tenant_id: t, client_id: c, client_secret: ${SECRET} }`;

const bedrock = providerTypes.get('bedrock') as ProviderType;
const known = new Map([...providerTypes, ['entra', { ...bedrock, id: 'entra', identity: 'azure' } as ProviderType]]);

function configOf(type: string, settings: string, environment = {}): Config {
  const text = `providers: { p: { type: ${type}, base_url: "https://upstream.test", models: [], ${settings} } }`;
  return parseConfig(text, { file: 'polygate.yaml', environment, known });
}

function provider(config: Config): ReadyProvider {
  const found = config.providers.find(({ id }) => id === 'p');
  assert.ok(found?.state === 'ready');
  return found;
}

test('each vendor has its forms', () => {
  for (const [type, credentials] of [
    ['bedrock', 'auto'],
    ['bedrock', '{ profile: work }'],
    ['bedrock', '{ role_arn: "arn:aws:iam::1:role/r", external_id: e, session_name: s }'],
    ['bedrock', '{ profile: work, role_arn: "arn:aws:iam::1:role/r" }'],
    ['vertex', 'auto'],
    ['vertex', '{ file: /run/credentials.json }'],
    ['entra', 'managed'],
    ['entra', 'workload'],
    ['entra', AZURE],
    ['entra', '{ source: managed, client_id: c, scope: "https://ai.azure.com/.default" }'],
  ] as const) {
    const { apiKeys, identity } = provider(configOf(type, `credentials: ${credentials}`));
    assert.deepEqual(apiKeys, []);
    assert.ok(identity, `${type} ${credentials}`);
  }
  assert.equal(provider(configOf('bedrock', 'api_key: k')).identity, undefined);
  const lookUp = provider(configOf('bedrock', 'credentials: auto', { AWS_PROFILE: 'p' })).identity?.lookUp;
  assert.equal(lookUp?.('AWS_PROFILE').value, 'p');
});

test('other forms are refused, and so is a key beside an identity', () => {
  const refused: [type: string, settings: string, message: RegExp][] = [
    ['bedrock', 'credentials: auto, api_key: k', /p\.credentials: conflicts with api_key; set only one of them/],
    ['bedrock', `credentials: auto, api_key: "\${UNSET}"`, /p\.credentials: conflicts with api_key/],
    ['bedrock', 'credentials: auto, api_keys: [k]', /p\.credentials: conflicts with api_keys/],
    [
      'entra',
      'credentials: managed, headers: { API-Key: k }',
      /p\.credentials: conflicts with headers\.API-Key; set only/,
    ],
    ['vertex', 'credentials: auto, headers: { authorization: k }', /p\.credentials: conflicts with headers\.auth/],
    ['openai', 'credentials: auto', /p\.credentials: may not be set: the type openai takes api_key/],
    ['bedrock', 'credentials: managed', /of the type bedrock must be auto, \{ profile: NAME \} or \{ role_arn: ARN \}/],
    ['bedrock', 'credentials: { external_id: e }', /must be auto/],
    ['bedrock', 'credentials: { profile: p, external_id: e }', /must be auto/],
    ['bedrock', 'credentials: { file: f }', /must be auto/],
    ['vertex', 'credentials: { profile: p }', /must be auto or \{ file: PATH \}/],
    ['vertex', 'credentials: {}', /must be auto or/],
    ['entra', 'credentials: auto', /must be managed, workload or/],
    ['entra', `credentials: { source: managed, tenant_id: t, client_id: c, client_secret: s }`, /must be managed/],
    ['entra', 'credentials: { tenant_id: t, client_id: c }', /must be managed, workload or/],
    [
      'bedrock',
      'credentials: { role: r }',
      /credentials\.role: unknown field; did you mean file\?|credentials\.role: unknown field/,
    ],
  ];
  for (const [type, settings, message] of refused) assert.throws(() => configOf(type, settings), message, settings);
  const misplaced = `credentials: ${SECRET}`;
  assert.throws(
    () => configOf('bedrock', misplaced),
    ({ message }: Error) => /p\.credentials: /.test(message) && !message.includes(SECRET),
  );
});

test('a secret is masked, and nothing is switched on by variables alone', () => {
  const config = configOf('entra', `credentials: ${AZURE}`);
  const settings = provider(config).identity?.settings;
  assert.ok(typeof settings === 'object' && settings.client_secret instanceof Secret);
  const shown = describeConfig(config) + JSON.stringify(effectiveSettings(config));
  assert.match(shown, /client_secret: PLAN…/);
  assert.ok(!shown.includes(SECRET));
  const environment = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_PROFILE: 'p' };
  const { providers } = parseConfig('', { environment, known });
  assert.ok(!providers.some(({ id }) => id === 'bedrock' || id === 'vertex'));
});
