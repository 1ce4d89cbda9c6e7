/** The registry: addresses, credentials, and that the documentation names every type. */

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { keyCredential, NO_CREDENTIAL } from '../../src/core/credential.ts';
import { GatewayError } from '../../src/core/errors.ts';
import type { Provider, ProviderType } from '../../src/core/provider.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { ANY_MODEL, baseUrlOf, headersOf } from './reach.ts';

const network = [...providerTypes.values()].filter((type) => type.id !== 'sandbox');

function typeOf(id: string): ProviderType {
  const type = providerTypes.get(id);
  assert.ok(type);
  return type;
}

function create(id: string, baseUrl?: string): Provider {
  return typeOf(id).create({ id: 'mine', baseUrl });
}

describe('base URLs', () => {
  const spellings: [string, string | undefined, string][] = [
    ['openai', undefined, 'https://api.openai.com/v1'],
    ['openai', 'https://gateway.example/openai/v1/', 'https://gateway.example/openai/v1'],
    ['openai-compatible', 'http://127.0.0.1:8000/v1', 'http://127.0.0.1:8000/v1'],
    ['openai-compatible', 'http://127.0.0.1:8000', 'http://127.0.0.1:8000'],
    ['anthropic', undefined, 'https://api.anthropic.com'],
    ['anthropic', 'https://own.example/anthropic', 'https://own.example/anthropic'],
    ['anthropic', 'https://own.example/anthropic/v1/', 'https://own.example/anthropic'],
    ['google', undefined, 'https://generativelanguage.googleapis.com'],
    ['google', 'https://own.example/v1beta', 'https://own.example'],
    ['google', 'https://own.example/gemini/v1/', 'https://own.example/gemini'],
    ['google', 'https://own.example/v1beta1', 'https://own.example'],
  ];
  for (const [type, given, used] of spellings) {
    test(`${type}: ${given ?? 'its own'}`, () => assert.equal(baseUrlOf(create(type, given)), used));
  }

  const wrong: [string | undefined, RegExp][] = [
    [undefined, /base_url of provider "mine" .* is missing/],
    ['localhost:8000/v1', /must be an http or https URL/],
    ['ftp://example.com', /must be an http or https URL/],
    ['https://example.com/v1?key=1', /must not have a query/],
  ];
  for (const [given, message] of wrong) {
    test(`${given ?? 'none'} is refused in clear words`, () => {
      assert.throws(
        () => create('openai-compatible', given),
        (error) => error instanceof GatewayError && error.param === 'base_url' && message.test(error.message),
      );
    });
  }
});

describe('credentials', () => {
  test('chat completions: a bearer key, or none', async () => {
    assert.deepEqual(await headersOf(create('openai'), keyCredential('secret')), { authorization: 'Bearer secret' });
    assert.deepEqual(await headersOf(create('ollama'), NO_CREDENTIAL), {});
  });

  test('messages: a key and the version, which a server without keys wants too', async () => {
    assert.deepEqual(await headersOf(create('anthropic'), keyCredential('secret')), {
      'anthropic-version': '2023-06-01',
      'x-api-key': 'secret',
    });
    assert.deepEqual(await headersOf(create('anthropic'), NO_CREDENTIAL), { 'anthropic-version': '2023-06-01' });
  });

  test('generate content: a key', async () => {
    assert.deepEqual(await headersOf(create('google'), keyCredential('secret')), { 'x-goog-api-key': 'secret' });
  });
});

describe('families of models that read each other', () => {
  test('Gemini models by generation, others alone', () => {
    const google = create('google');
    assert.equal(google.family?.('gemini-3-pro-preview'), google.family?.('gemini-3.1-flash'));
    assert.notEqual(google.family?.('gemini-3-pro'), google.family?.('gemini-2.5-pro'));
    assert.equal(google.family?.('something-new'), 'something-new');
  });

  test('OpenRouter: the vendor', () =>
    assert.equal(create('openrouter').family?.('anthropic/claude-haiku-4.5'), 'anthropic'));
});

describe('the registry', () => {
  test('keys are ids, and no two types share a variable', () => {
    for (const [id, type] of providerTypes) assert.equal(type.id, id);
    const variables = network.flatMap((type) => type.environment);
    assert.equal(new Set(variables).size, variables.length);
  });

  test('protocols without a dialect are sent as they are', () => {
    for (const id of ['anthropic', 'google', 'openrouter']) {
      const [dialect] = create(id).speaks(ANY_MODEL);
      assert.ok(dialect);
      assert.equal(dialect.adapt, undefined);
    }
  });

  test('every type without an address of its own is keyless, so that the address alone suffices', () => {
    for (const type of network) if (type.baseUrl === undefined) assert.ok(type.keyless, type.id);
  });

  test('one type frames its streams and decodes errors of its platform, and one takes tokens, as docs/providers.md says', () => {
    for (const { id } of providerTypes.values()) {
      const { platform } = create(id, 'https://own.example');
      const more = id === 'bedrock' ? ['decodeError', 'framing'] : [];
      assert.deepEqual(Object.keys(platform).toSorted(), ['authorize', ...more, 'url'].toSorted(), id);
    }
    for (const type of network) {
      const credential = type.readKey?.('key:secret') ?? keyCredential('key:secret');
      assert.notEqual(credential.type, 'token', type.id);
    }
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    const account = JSON.stringify({ client_email: 'a@b', private_key_id: 'k', private_key: pem });
    const takesTokens = (type: ProviderType) => type.readKey?.(account).type === 'token';
    assert.deepEqual(
      network.filter(takesTokens).map(({ id }) => id),
      ['vertex'],
    );
  });

  test('docs/providers.md names every type with its variables and its address', () => {
    const page = readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8');
    const rows = page
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) => line.replaceAll(/ +/g, ' '));
    for (const type of network) {
      const row = rows.find((line) => line.startsWith(`| \`${type.id}\` |`));
      assert.ok(row, `no row for ${type.id}`);
      const protocols = type.protocols.length === 0 ? '-' : type.protocols.join(', ');
      for (const fact of [...type.environment, type.baseUrl ?? '', `| ${protocols} |`])
        assert.ok(row.includes(fact), `${fact} in: ${row}`);
      assert.equal(row.includes('| catalog |'), type.catalog !== undefined, `where models come from in: ${row}`);
    }
  });
});
