/**
 * The build of the pages of the dashboard: it is of files outside of their folder too, wherever they are built, and of one that
 * failed nothing is told about the machine.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const source = join(root, 'ui/src');
const OUTSIDE = /from '((?:\.\.\/)+[^']+)'/g;

/** Files outside of `ui` that a module of the pages imports. */
function importedFromOutside(): string[] {
  const modules = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
  const paths = modules.flatMap((module) =>
    [...readFileSync(join(source, module), 'utf8').matchAll(OUTSIDE)].map(([, path = '']) =>
      relative(root, join(source, module, '..', path.replace('?raw', ''))),
    ),
  );
  return [...new Set(paths)].filter((path) => !path.startsWith('ui/')).toSorted();
}

test('pages are built anew when a file outside of their folder changes', async () => {
  // @ts-expect-error A script without types.
  const { SHARED } = await import('../../scripts/pages.mjs');
  const imported = importedFromOutside();
  assert.ok(imported.length > 0);
  assert.deepEqual(
    imported.filter((path) => !SHARED.includes(path)),
    [],
  );
});

test('the image is built with each of these files', () => {
  const copied = readFileSync(join(root, 'deploy/Containerfile'), 'utf8').split('\n');
  const sources = copied.flatMap((line) => (line.startsWith('COPY ') ? line.split(' ').slice(1, -1) : []));
  const missing = importedFromOutside().filter(
    (path) => !sources.some((place) => path === place || path.startsWith(`${place}/`)),
  );
  assert.deepEqual(missing, []);
});

test('why a build failed is told without folders of the machine and hosts', async () => {
  // @ts-expect-error A script without types.
  const { publicProblem } = await import('../../scripts/pages.mjs');
  const text = `npm ci failed in ${root}/ui: GET https://packages.internal:4873/react/-/react-19.tgz, see /home/ana/.npm/_logs/1.log`;
  assert.equal(publicProblem(text), 'npm ci failed in ui: GET …/react/-/react-19.tgz, see …/1.log');
  assert.equal(
    publicProblem(`${root}/ui/src/main.tsx:3:1 Expected ";" in "import a from './b/c.ts'"`),
    `ui/src/main.tsx:3:1 Expected ";" in "import a from './b/c.ts'"`,
  );
  assert.equal(publicProblem('x'.repeat(5000)).length, 2000);
});
