/**
 * `npm run sbom -- FOLDER`: lists of the libraries in the package, of the program (`polygate`) and of the dashboard
 * (`polygate-ui`), as CycloneDX and as SPDX, from the lock files.
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { npm, root } from './install.mjs';

const SOURCES = { polygate: root, 'polygate-ui': join(root, 'ui') };
const FORMATS = ['cyclonedx', 'spdx'];

/** Writes the lists into `folder`; returns the libraries of all, each as `name version`. */
export async function writeSboms(folder) {
  mkdirSync(folder, { recursive: true });
  const libraries = new Set();
  for (const [name, source] of Object.entries(SOURCES)) {
    const stage = mkdtempSync(join(tmpdir(), 'polygate-sbom-'));
    try {
      copyWithoutDevelopment(source, stage);
      for (const format of FORMATS) {
        const text = await list(stage, format);
        writeFileSync(join(folder, `${name}.${format}.json`), text);
        for (const { group, name: own, version } of JSON.parse(text).components ?? [])
          libraries.add(`${group ? `${group}/` : ''}${own} ${version}`);
      }
    } finally {
      rmSync(stage, { recursive: true, force: true });
    }
  }
  return libraries;
}

/** `npm sbom --omit dev` leaves out libraries that a development dependency uses too, such as pg. */
function copyWithoutDevelopment(source, stage) {
  const read = (file) => JSON.parse(readFileSync(join(source, file), 'utf8'));
  const { scripts: _, devDependencies: __, ...manifest } = read('package.json');
  const { packages, ...lock } = read('package-lock.json');
  const kept = Object.entries(packages).filter(([, { dev }]) => !dev);
  for (const [, entry] of kept) delete entry.devDependencies;
  writeFileSync(join(stage, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(stage, 'package-lock.json'), JSON.stringify({ ...lock, packages: Object.fromEntries(kept) }));
}

async function list(stage, format) {
  let text = '';
  await npm(['sbom', '--package-lock-only', '--sbom-format', format], stage, (part) => {
    text += part;
  });
  return text;
}

if (process.argv[1] === import.meta.filename) await writeSboms(resolve(process.argv[2] ?? '.'));
