/**
 * Groups of test files that share a process: the start of a process and its imports cost more than most files need for
 * their tests. Each file is a suite of its own, so its hooks concern nothing but its tests. Files that run alone are imported
 * by a program of their own, which ends them as it ends groups.
 */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './install.mjs';
import { runsAlone } from './suites.mjs';

/** After the last test of its last file a program ends, also where a hook hangs or has left something open. */
const END_MS = 20_000;
/** Files of a group: enough to save most of the imports, few enough to keep all cores busy to the end. */
const MOST_FILES = 36;
const FEWEST_FILES = 5;
/** Where files are too few for large groups; several run at once. */
const ENOUGH_GROUPS = 8;

/** Files of a group that keep all cores busy to the end. */
function sizeOfGroups(count) {
  return Math.min(MOST_FILES, Math.max(FEWEST_FILES, Math.ceil(count / ENOUGH_GROUPS)));
}

/**
 * Writes a program for each group, and for each file that runs alone; removes them with `remove`. `fileOf` has the file of a
 * program, as a path from the root, where it is of one file, and any other path as it is. `preload` is a module whose hooks
 * concern the tests of all files.
 */
export function writeGroups(files, { isAlone = runsAlone, filesOfGroup, preload } = {}) {
  const folder = join(root, '.node', 'groups', String(process.pid));
  mkdirSync(folder, { recursive: true });
  const shared = files.filter((file) => !isAlone(file));
  const alone = files.filter(isAlone);
  const write = (name, text) => {
    const path = join(folder, `${name}.mjs`);
    writeFileSync(path, text);
    return path;
  };
  const size = filesOfGroup ?? sizeOfGroups(shared.length);
  const count = Math.ceil(shared.length / size);
  const programs = [
    ...Array.from({ length: count }, (_, index) => {
      const own = shared.slice(index * size, (index + 1) * size);
      return write(`group-${String(index).padStart(2, '0')}`, groupProgram(own, { preload }));
    }),
    ...alone.map((file, index) =>
      write(`${String(index).padStart(3, '0')}-${basename(file, '.ts')}`, fileProgram(file)),
    ),
  ];
  const filesByProgram = new Map(programs.slice(count).map((path, index) => [resolve(path), alone[index]]));
  return {
    programs,
    fileOf: (path) => filesByProgram.get(resolve(root, path)) ?? path,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** `require` loads a file within its suite; a file that `import` loads would not know the suite. */
export function groupProgram(files, { endMs = END_MS, preload } = {}) {
  const suites = files.map(
    (file) =>
      `suite(${JSON.stringify(file)}, () => { endAfterTests(); require(${JSON.stringify(resolve(root, file))}); });`,
  );
  const first = preload ? [`require(${JSON.stringify(resolve(root, preload))});`] : [];
  return `${[...headOf(endMs), ...first, ...suites].join('\n')}\n`;
}

/** A file that runs alone may wait for something while it is loaded. */
export function fileProgram(file, { endMs = END_MS } = {}) {
  const url = pathToFileURL(resolve(root, file)).href;
  return `${[...headOf(endMs), 'endAfterTests();', `await import(${JSON.stringify(url)});`].join('\n')}\n`;
}

/** Its hooks run before those of the file, which may hang, and wait for those of the next file of a group. */
function headOf(endMs) {
  return [
    "import { after, before, suite } from 'node:test';",
    "import { createRequire } from 'node:module';",
    'const require = createRequire(import.meta.url);',
    'let end;',
    'function endAfterTests() {',
    '  before(() => clearTimeout(end));',
    '  after(() => {',
    `    end = setTimeout(() => process.exit(), ${endMs}).unref();`,
    '  });',
    '}',
  ];
}
