import assert from 'node:assert/strict';
import { describe as group, test } from 'node:test';
import { inspect } from 'node:util';
import { parse } from 'yaml';
import { describeConfig } from '../../src/config/mask.ts';
import type { Config } from '../../src/config/resolved.ts';
import { Secret } from '../../src/security/secret.ts';
import { configOf } from './sources.ts';

const SECRET = 'abcd-this-must-not-be-shown';

group('a secret', () => {
  test('shows its mask however it is printed', () => {
    const secret = new Secret(SECRET);
    for (const text of [
      `${secret}`,
      String(secret),
      JSON.stringify({ secret }),
      inspect(secret),
      inspect({ a: [secret] }),
    ]) {
      assert.ok(!text.includes('this-must-not'), text);
      assert.ok(text.includes('abcd…'), text);
    }
    assert.deepEqual(Object.keys(secret), []);
    assert.equal(secret.reveal(), SECRET);
  });

  test('that is short is masked completely', () => {
    assert.equal(new Secret('abcdefgh').mask(), '…');
  });
});

group('a described configuration', () => {
  const config = configOf(
    `
server: { public_url: "https://gw.test" }
keys: [{ name: ci, key: ${SECRET}, models: ["a/*"], expires: 2030-01-01 }]
providers:
  openai: { api_key: ${SECRET}, headers: { x-secret: ${SECRET} } }
  ollama: { models: [{ id: m, max_completion_tokens: 5, pricing: { prompt: "1", completion: "2" }, rules: { token_field: max_tokens }, service_tiers: { flex: { prompt: "0.5", completion: "1" } } }] }
  own: { type: openai-compatible, base_url: "http://own.test/v1", protocols: [responses, chat] }
`,
  );
  const text = describeConfig(config);

  test('is a valid configuration file except for masked secrets', () => {
    const again = configOf(text.replaceAll('abcd…', SECRET));
    assert.deepEqual(plain(again), plain(config));
    assert.equal(parse(text).server.deadlines.connect, '5s');
  });

  test('shows no secret', () => {
    assert.ok(!text.includes('this-must-not'));
    assert.ok(text.includes('api_key: abcd…'));
    assert.ok(text.includes('x-secret: abcd…'));
  });

  test('shows which database it is, without its password', () => {
    const shown = describeConfig(
      configOf('data: postgres://gateway:this-must-not@db.test:5432/polygate?sslmode=require'),
    );
    assert.match(shown, /^data: postgres:\/\/…@db\.test:5432\/polygate$/m);
    assert.ok(!shown.includes('this-must-not'));
  });

  test('says who is ready and who waits for what', () => {
    assert.match(text, /^# openai {3}ready$/m);
    assert.match(text, /^# google {3}waiting for GEMINI_API_KEY or GOOGLE_API_KEY$/m);
  });
});

/** Values alone, providers in one order. */
function plain(config: Config): unknown {
  const providers = config.providers.toSorted((one, other) => one.id.localeCompare(other.id));
  return JSON.parse(JSON.stringify({ ...config, providers }));
}
