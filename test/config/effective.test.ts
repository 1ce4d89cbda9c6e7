/** Effective settings with their origin, and checks of a text that must not read what it names. */

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: The file's own syntax.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkConfigText } from '../../src/config/check-text.ts';
import { changedSettings, effectiveSettings, modelSettings } from '../../src/config/effective.ts';
import type { Environment } from '../../src/config/environment.ts';
import { configOf, sourceWith } from './sources.ts';

const KEY = 'a-secret-of-the-environment-0123456789';
const ENVIRONMENT: Environment = { CI_KEY: KEY, OPENAI_API_KEY: `${KEY}-openai`, HOST: '127.0.0.2', PORT: '9000' };

function settingOf(text: string, path: string): unknown {
  const { settings } = effectiveSettings(configOf(text, ENVIRONMENT));
  const found = settings.find((one) => one.path === path);
  return found && { value: found.value, ...found.source };
}

describe('a setting comes from', () => {
  const text = `server: { host: "\${HOST}" }\nkeys:\n  - name: ci\n    key: "\${CI_KEY}"\n    models: ["a/*", "b/*"]`;
  const cases: [path: string, expected: object][] = [
    ['server.host', { value: '127.0.0.2', from: 'environment', variables: ['HOST'], line: 1 }],
    ['server.keep_alive', { value: '15s', from: 'default' }],
    ['keys[0].name', { value: 'ci', from: 'file', line: 3 }],
    ['keys[0].key', { value: 'a-se…', from: 'environment', variables: ['CI_KEY'], line: 4 }],
    ['keys[0].models', { value: ['a/*', 'b/*'], from: 'file', line: 5 }],
    ['providers.openai.api_key', { value: 'a-se…', from: 'environment', variables: ['OPENAI_API_KEY'] }],
  ];
  for (const [path, expected] of cases) test(path, () => assert.deepEqual(settingOf(text, path), expected));
});

describe('of many models', () => {
  const COUNT = 4000;
  const items = Array.from({ length: COUNT }, (_, index) => `      - { id: m${index}, name: M, context_length: 9 }`);
  const file = (host: string) =>
    `server: { host: ${host} }\nproviders:\n  own:\n    type: openai-compatible\n    base_url: http://a.test\n    models:\n${items.join('\n')}\n` +
    'models: { own/routed: { endpoints: [{ provider: own, model: m1 }] } }\naliases: { quick: own/m3999, other: own/m1 }';
  const config = configOf(file('127.0.0.1'));

  test('the list ends, says so, and is worked out once', () => {
    const { settings, isComplete } = effectiveSettings(config);
    assert.deepEqual([settings.length, isComplete], [10_000, false]);
    assert.equal(effectiveSettings(config).settings, settings);
    assert.notEqual(effectiveSettings(configOf(file('127.0.0.1'))).settings, settings);
  });

  test('the settings of one are found behind the end of the list, and no other is looked at', () => {
    let looked = 0;
    const counting = {
      ...config,
      sourceOf(path: Parameters<typeof config.sourceOf>[0]) {
        looked += 1;
        return config.sourceOf(path);
      },
    };
    const shown = (id: string) => modelSettings(counting, id).map(({ path, value }) => [path, value]);
    assert.deepEqual(shown('own/m3999'), [
      ['providers.own.models[3999].id', 'm3999'],
      ['aliases.quick', 'own/m3999'],
    ]);
    assert.equal(looked, 2);
    assert.deepEqual(modelSettings(config, 'own/m3999')[0]?.source, { from: 'file', line: 4006 });
    assert.deepEqual(shown('own/routed').slice(0, 2), [
      ['models.own/routed.endpoints[0].provider', 'own'],
      ['models.own/routed.endpoints[0].model', 'm1'],
    ]);
    assert.deepEqual(shown('other/m1'), []);
  });

  test('changes are compared once', () => {
    const next = configOf(file('127.0.0.2'));
    const changed = changedSettings(config, next);
    assert.deepEqual(changed, [{ path: 'server.host', before: '127.0.0.1', now: '127.0.0.2' }]);
    assert.equal(changedSettings(config, next), changed);
    assert.deepEqual(changedSettings(next, next), []);
    assert.deepEqual(changedSettings(next, config)[0]?.now, '127.0.0.1');
  });
});

describe('a check of a text', () => {
  const check = (text: string) => checkConfigText(text, sourceWith(ENVIRONMENT));

  test('shows no value of a variable, wherever the text puts it', () => {
    const text = 'server: { host: "${CI_KEY}", public_url: "${CI_KEY}", prefixes: { messages: "x${CI_KEY}" } }';
    const found = check(text);
    const { settings } = found.config ? effectiveSettings(found.config) : { settings: [] };
    assert.ok(!JSON.stringify([found.problems, settings]).includes(KEY));
    assert.deepEqual(found.problems, []);
    assert.deepEqual(found.unchecked, ['server.host', 'server.public_url', 'server.prefixes.messages']);
  });

  test('knows whether a variable is set', () => {
    const [problem] = check('keys: [{ name: a, key: "${CI_KEY}" }, { name: b, key: "${NO_SUCH_KEY}" }]').problems;
    assert.equal(problem?.path, 'keys[1].key');
    assert.match(problem?.message ?? '', /NO_SUCH_KEY, which is not set/);
  });

  test('takes no two keys of variables for one', () => {
    const text = 'keys: [{ name: a, key: "${CI_KEY}" }, { name: b, key: "${OPENAI_API_KEY}" }]';
    assert.deepEqual(check(text).problems, []);
    assert.ok(check(text).config);
  });

  test('opens no file', () => {
    const { problems } = check('callbacks: { ca_file: /no/such/file.pem }');
    assert.deepEqual(problems, []);
  });

  test('checks all that needs no variable', () => {
    const { problems } = check(
      'providers: { a: { api_key: "${CI_KEY}" } }\nvideos: { mirror: local, s3: { endpoint: "http://a.test", bucket: bucket, access_key_id: i, secret_access_key: s } }',
    );
    assert.deepEqual(
      problems.map(({ path }) => path),
      ['providers.a', 'videos.s3'],
    );
  });
});
