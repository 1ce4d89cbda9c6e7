/** Sources of the keys that encrypt stored secrets. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { loadEncryptionKeys } from '../../src/config/encryption-key.ts';
import { Secret } from '../../src/security/secret.ts';

const KEY = Buffer.alloc(32, 1);
const OTHER = Buffer.alloc(32, 2);

function folder(context: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'polygate-key-'));
  context.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

test('keys of the configuration are used as they are, in both alphabets', (context) => {
  const keys = [KEY.toString('base64'), OTHER.toString('base64url')].map((text) => new Secret(text));
  const options = { keys, data: folder(context), mayCreate: true };
  assert.deepEqual(loadEncryptionKeys(options), [KEY, OTHER]);
});

test('the first start makes a file that only its owner reads, and later starts read it', (context) => {
  const data = join(folder(context), 'data');
  const made = loadEncryptionKeys({ keys: [], data, mayCreate: true });
  assert.equal(made[0]?.length, 32);
  assert.equal(statSync(join(data, 'encryption.key')).mode & 0o777, 0o600);
  assert.deepEqual(loadEncryptionKeys({ keys: [], data, mayCreate: false }), made);
  writeFileSync(join(data, 'encryption.key'), `${KEY.toString('base64')}\n${OTHER.toString('base64')}\n`);
  assert.deepEqual(loadEncryptionKeys({ keys: [], data, mayCreate: false }), [KEY, OTHER]);
});

test('a start that is killed while it makes the file leaves none, or a whole one', async (context) => {
  const module = new URL('../../src/config/encryption-key.ts', import.meta.url);
  for (let killed = 0; killed < 4; killed++) {
    const data = join(folder(context), 'data');
    const making = `import { loadEncryptionKeys } from ${JSON.stringify(module.href)};
      import fs from 'node:fs';
      import { syncBuiltinESMExports } from 'node:module';
      let calls = 0;
      for (const name of ['openSync', 'writeSync', 'writeFileSync', 'linkSync', 'fsyncSync', 'closeSync']) {
        const real = fs[name];
        fs[name] = (...values) => {
          const result = real(...values);
          if (calls++ === ${killed}) process.kill(process.pid, 'SIGKILL');
          return result;
        };
      }
      syncBuiltinESMExports();
      loadEncryptionKeys({ keys: [], data: ${JSON.stringify(data)}, mayCreate: true });`;
    spawnSync(process.execPath, ['--input-type=module', '--eval', making]);
    const [key] = loadEncryptionKeys({ keys: [], data, mayCreate: true });
    assert.equal(key?.length, 32, `killed after ${killed + 1} calls`);
  }
});

test('a missing or broken key is named and nothing is made in its place', (context) => {
  const data = folder(context);
  const refused = (options: { keyFile?: string; mayCreate: boolean }, message: RegExp) =>
    assert.throws(() => loadEncryptionKeys({ keys: [], data, ...options }), { code: 'invalid_request', message });
  refused({ mayCreate: false }, /encryption\.key is missing: the store has secrets/);
  const keyFile = join(data, 'own.key');
  refused({ keyFile, mayCreate: true }, /own\.key is missing/);
  assert.throws(() => readFileSync(keyFile));
  writeFileSync(keyFile, 'short\n');
  refused({ keyFile, mayCreate: true }, /own\.key must hold 32 bytes/);
  refused({ keyFile: data, mayCreate: true }, /cannot be read/);
});
