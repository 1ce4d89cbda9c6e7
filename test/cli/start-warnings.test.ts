/** Warnings in the log about the way a gateway is run. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Machine, ownAddressWarnings, startWarnings } from '../../src/cli/start-warnings.ts';
import { parseConfig } from '../../src/config/load.ts';
import { sourceWith } from '../config/sources.ts';

const ROOT: Machine = { platform: 'linux', uid: 0, isContainer: false };

function configOf(text: string) {
  return parseConfig(text, sourceWith());
}

test('a gateway that runs as root unnecessarily warns', () => {
  const plain = configOf('server: { port: 8080 }');
  assert.match(startWarnings(plain, ROOT).join(), /runs as root unnecessarily/);
  assert.deepEqual(startWarnings(plain, { ...ROOT, uid: 1000 }), []);
  assert.deepEqual(startWarnings(plain, { ...ROOT, isContainer: true }), []);
  assert.deepEqual(startWarnings(plain, { ...ROOT, platform: 'win32', uid: undefined }), []);
  assert.deepEqual(startWarnings(configOf('server: { port: 443 }'), ROOT), []);
  const admin = 'admin: { token: 0123456789abcdef0123456789abcdef, port: 81 }';
  assert.deepEqual(startWarnings(configOf(admin), ROOT), []);
});

test('a proxy that is set in the environment, and is not used, warns', () => {
  const user: Machine = { ...ROOT, uid: 1000 };
  const [warning, ...others] = startWarnings(configOf(''), { ...user, proxyVariable: 'https_proxy' });
  assert.equal(
    warning,
    `https_proxy is set, and is not used: with network: { proxy: "\${https_proxy}" } in the configuration file, the gateway connects to providers through it.`,
  );
  const used = configOf('network: { proxy: "http://proxy.example:3128" }');
  assert.deepEqual([others, startWarnings(configOf(''), user)], [[], []]);
  assert.deepEqual(startWarnings(used, { ...user, proxyVariable: 'https_proxy' }), []);
});

test('a provider at the address of the gateway warns, by its default or by its base_url', () => {
  const at = (host: string, base: string) =>
    ownAddressWarnings(
      configOf(
        `server: { host: "${host}", port: 8080 }\nproviders: { near: { type: openai-compatible, base_url: "${base}" } }`,
      ),
    ).length;
  for (const base of ['http://localhost:8080/v1', 'http://127.0.0.1:8080', 'http://[::1]:8080/v1'])
    for (const host of ['127.0.0.1', '0.0.0.0']) assert.equal(at(host, base), 1, `${host} ${base}`);
  assert.equal(at('10.0.0.5', 'http://10.0.0.5:8080/v1'), 1);
  assert.equal(at('10.0.0.5', 'http://localhost:8080/v1'), 0, 'another server of this machine');
  for (const base of ['http://localhost:8081/v1', 'https://localhost:8080/v1', 'http://10.0.0.6:8080/v1'])
    assert.equal(at('127.0.0.1', base), 0, base);
  assert.deepEqual(ownAddressWarnings(configOf('server: { port: 11434 }\nproviders: { ollama: {} }')), [
    'Warning: providers.ollama: http://localhost:11434/v1 is the address of the gateway itself; choose another port for it with --port, or the base_url of the provider.',
  ]);
});

test('a store without its usage records says that budgets begin anew', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-warnings-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const config = configOf(`data: "${folder}"`);
  const warnings = () => startWarnings(config, { ...ROOT, uid: 1000 }).join();
  assert.equal(warnings(), '', 'a new gateway has neither');
  writeFileSync(join(folder, 'state.db'), 'something');
  assert.match(warnings(), /usage\.db is missing or empty beside state\.db/);
  writeFileSync(join(folder, 'usage.db'), 'something');
  assert.equal(warnings(), '');
});
