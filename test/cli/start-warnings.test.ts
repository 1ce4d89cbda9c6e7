/** Warnings in the log about the way a gateway is run. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Machine, startWarnings } from '../../src/cli/start-warnings.ts';
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
  assert.equal(warning, 'https_proxy is set, and is not used: the gateway connects to providers itself.');
  assert.deepEqual([others, startWarnings(configOf(''), user)], [[], []]);
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
