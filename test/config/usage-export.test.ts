/** The settings of the export of usage records. */

import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { describeConfig } from '../../src/config/mask.ts';
import { needsRestart } from '../../src/gateway/reloadable-parts.ts';
import { configOf } from './sources.ts';

const STORE =
  'endpoint: https://s3.example.com/, bucket: usage, access_key_id: id, secret_access_key: secret-of-the-store';

test('a folder or a store', () => {
  assert.equal(configOf('').usage.export, undefined);
  const folder = configOf('usage: { export: { folder: exported } }');
  assert.deepEqual(folder.usage.export, { type: 'folder', folder: resolve('exported') });
  const store = configOf(`usage: { export: { s3: { ${STORE} } } }`);
  const { export: target } = store.usage;
  assert.ok(target?.type === 's3');
  assert.deepEqual(
    [target.endpoint, target.secretAccessKey.reveal()],
    ['https://s3.example.com', 'secret-of-the-store'],
  );
  assert.deepEqual(needsRestart(folder, store), ['usage.export']);
  const shown = describeConfig(store);
  assert.ok(shown.includes('bucket: usage') && !shown.includes('secret-of-the-store'));
});

test('not both, and not neither', () => {
  assert.throws(() => configOf(`usage: { export: { folder: a, s3: { ${STORE} } } }`), /usage\.export\.s3: conflicts/);
  assert.throws(() => configOf('usage: { export: {} }'), /usage\.export: needs folder or s3/);
});
