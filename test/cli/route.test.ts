/** The command that shows where a request would go. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { type Program, program } from './program.ts';

const CONFIG = `
providers:
  a: { type: openai-compatible, base_url: "http://127.0.0.1:9/v1", api_keys: [secret-key-one, secret-key-two], models: [{ id: m }] }
  b: { type: anthropic, base_url: "http://127.0.0.1:9", api_key: secret-key-three, models: [{ id: m }] }
models:
  house/m:
    endpoints:
      - { provider: a, model: m, pricing: { prompt: "0.000001", completion: "0.000002" } }
      - { provider: b, model: m, priority: 1 }
      - { provider: openai, model: gpt-5, priority: 2 }
aliases: { short: house/m }
`;

function prepared(context: Parameters<typeof program>[0]): Program {
  const started = program(context);
  writeFileSync(join(started.folder, 'polygate.yaml'), CONFIG);
  return started;
}

describe('route', () => {
  test('lists endpoints in their order, and why others are left out', async (context) => {
    const { code, stdout, stderr } = await prepared(context).run(['route', 'short']);
    assert.equal(code, 0, stderr);
    const rows = stdout.split('\n').map((line) => line.split('\t'));
    assert.deepEqual(rows.map(([place, endpoint]) => [place, endpoint?.replace(/key \d/, 'key')]).slice(0, 4), [
      ['1', 'a/m (key)'],
      ['2', 'a/m (key)'],
      ['3', 'b/m'],
      ['-', 'openai/gpt-5'],
    ]);
    assert.deepEqual(rows[0]?.slice(2), ['house/m', '3', 'passthrough', '']);
    assert.match(stdout, /the provider "openai" is not ready/);
    assert.ok(!stdout.includes('secret') && !stdout.includes('127.0.0.1'));
  });

  test('reads a request and says what an endpoint could not be told', async (context) => {
    const { folder, run } = prepared(context);
    const body = { messages: [{ role: 'user', content: 'Hi' }], seed: 1, provider: { order: ['b'] } };
    writeFileSync(join(folder, 'body.json'), JSON.stringify(body));
    const { code, stdout, stderr } = await run(['route', 'house/m', '--request', 'body.json', '--json']);
    assert.equal(code, 0, stderr);
    const { model, candidates, policy } = JSON.parse(stdout) as Json;
    assert.equal(model, 'house/m');
    assert.deepEqual(candidates[0], { endpoint: 'b/m', model: 'house/m', path: 'translated', dropped: ['seed'] });
    assert.equal(policy.order[0].text, 'b');
    assert.equal(candidates[3].left_out, 'the provider "openai" is not ready');
  });

  test('takes the header, and every protocol', async (context) => {
    const { run } = prepared(context);
    for (const protocol of ['chat', 'messages', 'generate']) {
      const policy = ['--provider', '{"ignore":["a"]}'];
      const { code, stdout, stderr } = await run(['route', 'house/m', '--protocol', protocol, ...policy]);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^1\tb\/m\t/);
    }
  });

  test('says what is wrong', async (context) => {
    const { folder, run } = prepared(context);
    writeFileSync(join(folder, 'broken.json'), '{');
    const FAULTS: [string[], RegExp][] = [
      [['route', 'nowhere/m'], /There is no provider "nowhere"/],
      [['route', 'house/m', '--provider', '{"a":1}'], /x-polygate-provider\.a is not a known field/],
      [['route', 'house/m', '--request', 'missing.json'], /missing\.json: cannot be read/],
      [['route', 'house/m', '--request', 'broken.json'], /broken\.json: is not JSON/],
    ];
    for (const [args, message] of FAULTS) {
      const { code, stderr } = await run(args);
      assert.equal(code, 1);
      assert.match(stderr, message);
    }
  });
});
