/** Licences of bundled libraries: each has its text, and none is under another licence than those allowed. */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
// @ts-expect-error A script without types.
import { licencesOf } from '../../scripts/licences.mjs';

const root = join(import.meta.dirname, '../..');
const GRANT = 'Permission is hereby granted, free of charge, to any person';

/** Path of a module of a package with these files. */
function library(context: TestContext, manifest: object, files: Record<string, string> = {}): string {
  const base = mkdtempSync(join(tmpdir(), 'polygate-licences-'));
  context.after(() => rmSync(base, { recursive: true, force: true }));
  const folder = join(base, 'node_modules', '@scope', 'name');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: '@scope/name', version: '1.2.3', ...manifest }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return join(folder, 'lib', 'index.js');
}

test('every library that the program depends on has an allowed licence, with its text', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const names = Object.keys(dependencies);
  const text: string = licencesOf(names.map((name) => join(root, 'node_modules', name, 'index.js')));
  for (const name of names) assert.match(text, new RegExp(`^${name} \\d`, 'm'));
});

test('the text is that of the licence and notice files of a package, once for all its modules', (context) => {
  const module = library(context, { license: 'Apache-2.0' }, { 'LICENSE.md': 'The licence', NOTICE: 'A notice' });
  const text: string = licencesOf([module, join(module, '../other.js'), '/src/main.ts']);
  assert.match(text, /^@scope\/name 1\.2\.3 \(Apache-2\.0\)\n\nThe licence\nA notice\n/);
  assert.equal(text.split('@scope/name').length, 2);
});

test('packages of one text share it', (context) => {
  const modules = ['one', 'two'].map((name) => library(context, { name, license: 'MIT' }, { LICENSE: 'The same' }));
  assert.equal(licencesOf(modules).split('-'.repeat(80))[0], 'one 1.2.3 (MIT)\ntwo 1.2.3 (MIT)\n\nThe same\n\n');
});

test('the text may be the last section of a readme, or follow from the name of the licence', (context) => {
  const section = `# Name\n\nWords\n\n## License\n\nCopyright Ada\n\n${GRANT} ...\n`;
  const fromReadme: string = licencesOf([library(context, { license: 'MIT' }, { 'README.md': section })]);
  assert.match(fromReadme, /\(MIT\)\n\nCopyright Ada\n/);
  assert.doesNotMatch(fromReadme, /Words/);
  const named = library(context, { license: 'MIT', author: { name: 'Ada' } }, { 'README.md': '## License\n\nMIT\n' });
  assert.match(licencesOf([named]), new RegExp(`Copyright \\(c\\) Ada\n\n${GRANT}`));
});

test('another licence, and one without a text, are refused with the name of the package', (context) => {
  const copyleft = library(context, { license: 'GPL-3.0' }, { LICENSE: 'The licence' });
  assert.throws(() => licencesOf([copyleft]), /@scope\/name 1\.2\.3 has the licence GPL-3\.0; allowed are MIT, /);
  assert.throws(() => licencesOf([library(context, {})]), /has the licence undefined/);
  const silent = library(context, { license: 'ISC' }, { 'README.md': '## License\n\nISC\n' });
  assert.throws(() => licencesOf([silent]), /@scope\/name 1\.2\.3 has no text of its licence \(ISC\)/);
});
