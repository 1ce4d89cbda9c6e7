/** Suites: which test files `npm test` runs, and which ones `npm run test:all` adds. The list is `test/suites.json`. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './install.mjs';

const list = JSON.parse(readFileSync(join(root, 'test', 'suites.json'), 'utf8'));

export const suites = Object.entries(list).flatMap(([pace, entries]) =>
  Object.entries(entries).map(([path, purpose]) => ({ path: `test/${path}`, purpose, slow: pace === 'slow' })),
);

/** Paths from the root with forward slashes, in alphabetical order. */
export function testFiles(folder = 'test') {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  const paths = entries.flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : testFiles(path);
    return entry.name.endsWith('.test.ts') ? [path] : [];
  });
  return paths.sort();
}

/** The files with one of the words in their path; all of them without words. Throws if a word is in none. */
export function chosenFiles(files, words) {
  const unknown = words.filter((word) => !files.some((path) => path.includes(word)));
  if (unknown.length > 0) throw new Error(`No test file has ${unknown.join(' or ')} in its path.`);
  return words.length === 0 ? files : files.filter((path) => words.some((word) => path.includes(word)));
}

/** The suite of a test file: the file itself where it is listed, else its folder. */
export function suiteOf(file) {
  const suite = suites.find(({ path }) => path === file) ?? suites.find(({ path }) => file.startsWith(`${path}/`));
  if (!suite) throw new Error(`${file} belongs to no suite of test/suites.json.`);
  return suite;
}

/** Whether a file needs a process of its own: slow ones start, kill and measure processes. */
export function runsAlone(file) {
  return suiteOf(file).slow;
}

/** Whether the tests of a file run on each engine of the store. */
export function usesBothEngines(file) {
  return readFileSync(join(root, file), 'utf8').includes('forEachStore(');
}
