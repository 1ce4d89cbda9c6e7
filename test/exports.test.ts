/** Exported functions, classes and constants of the source, and operations of the store: each has a user, or it is not there. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { operations } from '../src/store/operations/index.ts';

const root = resolve(import.meta.dirname, '..');

/** Folders whose files may import from the source. */
const IMPORTERS = ['src', 'test', 'bench', 'scripts', 'ui/src', 'ui/test', 'packages'];
/** Folders of packages, in which no file imports from the source. */
const SKIPPED = new Set(['node_modules', 'dist', '.venv']);

/** A name that is exported with its declaration, and that is there at run time. */
const DECLARATION = /^export (?:async )?(?:function\*?|(?:abstract )?class|const|let) (\w+)/gm;
/** Names that are exported apart from their declaration. */
const LIST = /^export \{([^}]*)\}/gm;
/** Names that are imported, or exported from another file, and its path. */
const NAMES = /^(?:import|export) (?:type )?(?:\w+, )?\{([^}]*)\} from ['"](\.[^'"]+)['"]/gm;
/** Imports of all names. */
const ALL_NAMES = /^(?:import|export) (?:type )?\*(?: as \w+)? from ['"](\.[^'"]+)['"]/gm;
/** Paths elsewhere: in `import('…')`, and in URLs of programs and modules. */
const PATH = /(?<!\bfrom )['"`](\.{1,2}\/[^'"`\n]*\.(?:ts|mjs))['"`]/g;
const WORD = /\w+/g;

interface Uses {
  isWhole: boolean;
  names: Set<string>;
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : filesBelow(path);
    return /\.(?:tsx?|mjs)$/.test(entry.name) ? [path] : [];
  });
}

/** Exported names that are there at run time. */
function exportedNames(text: string): string[] {
  const listed = [...text.matchAll(LIST)].flatMap(([, list = '']) => list.split(',').map((name) => name.trim()));
  return [
    ...[...text.matchAll(DECLARATION)].map(([, name = '']) => name),
    ...listed.filter((name) => name !== '' && !name.startsWith('type ')).map((name) => name.replace(/^\w+ as /, '')),
  ];
}

function importedNames(list: string): string[] {
  return list.split(',').map((name) => /^\s*(?:type )?(\w+)/.exec(name)?.[1] ?? '');
}

/** What other files use of each file. A file that loads another one later uses every name of it that it mentions. */
function usesIn(texts: ReadonlyMap<string, string>): Map<string, Uses> {
  const all = new Map<string, Uses>();
  for (const [path, text] of texts) {
    const usesOf = (target: string): Uses => {
      const file = resolve(dirname(path), target);
      const uses = all.get(file) ?? { isWhole: false, names: new Set() };
      if (file !== path) all.set(file, uses);
      return uses;
    };
    for (const [, list = '', target = ''] of text.matchAll(NAMES))
      for (const name of importedNames(list)) usesOf(target).names.add(name);
    for (const [, target = ''] of text.matchAll(ALL_NAMES)) usesOf(target).isWhole = true;
    for (const [, target = ''] of text.matchAll(PATH))
      for (const word of text.match(WORD) ?? []) usesOf(target).names.add(word);
  }
  return all;
}

test('every exported function, class and constant of src is imported by another file', () => {
  const paths = IMPORTERS.flatMap((folder) => filesBelow(join(root, folder)));
  const texts = new Map(paths.map((path) => [path, readFileSync(path, 'utf8')]));
  const uses = usesIn(texts);
  const unused = paths.flatMap((path) => {
    const file = relative(root, path).replaceAll('\\', '/');
    const { isWhole, names } = uses.get(path) ?? { isWhole: false, names: new Set() };
    if (!file.startsWith('src/') || isWhole) return [];
    return exportedNames(texts.get(path) ?? '')
      .filter((name) => !names.has(name))
      .map((name) => `${file}: ${name}`);
  });
  assert.deepEqual(unused, []);
});

test('every operation of the store is called by the source, not by tests alone', () => {
  const texts = filesBelow(join(root, 'src')).map((path) => readFileSync(path, 'utf8'));
  const called = new Set(texts.flatMap((text) => [...text.matchAll(/'(\w+)'/g)].map(([, name]) => name)));
  assert.deepEqual(
    Object.keys(operations).filter((name) => !called.has(name)),
    [],
  );
});
