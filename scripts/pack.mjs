/** The npm package as a file: the bundle has the libraries in it, so the package depends on none. */

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { npm, root } from './install.mjs';

/** What npm adds to `files` by itself. */
const ALWAYS = ['README.md', 'LICENSE'];
/** Members of package.json that only developers need. */
const DEVELOPMENT = ['scripts', 'dependencies', 'devDependencies'];

/** Packs what `npm run build` has made, into `folder`; returns the path of the file. */
export async function pack(folder) {
  const stage = mkdtempSync(join(tmpdir(), 'polygate-stage-'));
  try {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    for (const name of DEVELOPMENT) delete manifest[name];
    for (const file of [...manifest.files, ...ALWAYS]) cpSync(join(root, file), join(stage, file), { recursive: true });
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
    let packed = '';
    await npm(['pack', stage, '--json', '--ignore-scripts', '--loglevel=error'], folder, (text) => {
      packed += text;
    });
    const [{ filename }] = JSON.parse(packed);
    return join(folder, filename);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}
