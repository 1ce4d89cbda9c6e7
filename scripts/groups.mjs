/**
 * Groups of test files that share a process: the start of a process and its imports cost more than most files need for
 * their tests. Each file is a suite of its own, so its hooks concern nothing but its tests.
 */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { root } from './install.mjs';
import { runsAlone } from './suites.mjs';

/** After its last test a group ends, also where a hook that hung has left something open. */
const END_MS = 20_000;
/** Large enough to save most of the imports, small enough to keep all cores busy to the end. */
const FILES_PER_GROUP = 36;

/** Writes a program for each group; returns them with the files that run alone, and removes them with `remove`. */
export function writeGroups(files) {
  const folder = join(root, '.node', 'groups', String(process.pid));
  mkdirSync(folder, { recursive: true });
  const shared = files.filter((file) => !runsAlone(file));
  const count = Math.ceil(shared.length / FILES_PER_GROUP);
  const programs = Array.from({ length: count }, (_, index) => {
    const path = join(folder, `${String(index).padStart(2, '0')}.mjs`);
    writeFileSync(path, groupProgram(shared.slice(index * FILES_PER_GROUP, (index + 1) * FILES_PER_GROUP)));
    return path;
  });
  return {
    programs: [...programs, ...files.filter(runsAlone)],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** `require` loads a file within its suite; a file that `import` loads would not know the suite. */
export function groupProgram(files, endMs = END_MS) {
  const suites = files.map(
    (file) => `suite(${JSON.stringify(file)}, () => void require(${JSON.stringify(resolve(root, file))}));`,
  );
  const head = [
    "import { after, suite } from 'node:test';",
    "import { createRequire } from 'node:module';",
    `after(() => void setTimeout(() => process.exit(), ${endMs}).unref());`,
    'const require = createRequire(import.meta.url);',
  ];
  return `${[...head, ...suites].join('\n')}\n`;
}
