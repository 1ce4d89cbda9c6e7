/** Installer of the npm scripts, in folders of its own: packages that several checkouts share, and programs of the checks of `deploy`. */

import assert from 'node:assert/strict';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
// @ts-expect-error A script without types.
import { findTools } from '../../scripts/deploy-tools.mjs';
// @ts-expect-error A script without types.
import { installPackages, neededPackages } from '../../scripts/install.mjs';

test('packages that are a link to those of another checkout are replaced here and stay there', {
  skip: process.platform === 'win32',
}, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-install-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const [shared, own] = [join(folder, 'shared'), join(folder, 'own')];
  mkdirSync(join(shared, 'kept'), { recursive: true });
  mkdirSync(own);
  symlinkSync(shared, join(own, 'node_modules'));
  const part = { name: 'part', version: '1.0.0' };
  mkdirSync(join(own, 'part'));
  writeFileSync(join(own, 'part', 'package.json'), JSON.stringify(part));
  const manifest = { name: 'own', version: '1.0.0', dependencies: { part: 'file:part' } };
  writeFileSync(join(own, 'package.json'), JSON.stringify(manifest));
  const packages = {
    '': manifest,
    part: { version: part.version },
    'node_modules/part': { resolved: 'part', link: true },
  };
  const lock = { name: 'own', version: '1.0.0', lockfileVersion: 3, requires: true, packages };
  writeFileSync(join(own, 'package-lock.json'), JSON.stringify(lock));
  await installPackages(own, 'production', 'the packages of a test');
  assert.ok(existsSync(join(shared, 'kept')));
  assert.ok(lstatSync(join(own, 'node_modules')).isDirectory());
  assert.ok(!existsSync(join(shared, '.polygate-installed')));
});

test('the benchmark and the tests need all packages, the program those for production', () => {
  const files = ['bench/main.ts', 'test/corpus/main.ts', 'src/catalog/import/main.ts'];
  assert.deepEqual(files.map(neededPackages), ['all', 'all', 'production']);
});

test('a check of deploy finds the programs that it needs, and installs no others', () => {
  assert.deepEqual(findTools(new Set()), {});
});
