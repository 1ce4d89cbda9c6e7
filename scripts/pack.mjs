/**
 * `npm run pack -- FOLDER`: the npm packages as files, made from what `npm run build` has made. The program's bundle has
 * the libraries in it, so its package depends on none; a publication of the project's folder would be wrong.
 */

import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { npm, root, say } from './install.mjs';

/** What npm adds to `files` by itself. */
const ALWAYS = ['README.md', 'LICENSE'];
/** Members of package.json that only developers need. */
const DEVELOPMENT = ['scripts', 'dependencies', 'devDependencies'];
const RECEIVER_FOLDER = join(root, 'packages', 'webhooks');
/** Files of both packages that the build writes. */
const BUILT = [join(root, 'dist', 'polygate.cjs'), join(RECEIVER_FOLDER, 'dist', 'verify.d.ts')];

/** Packs the program into `folder`; returns the path of the file. */
export function pack(folder) {
  return packStage(folder, (stage) => {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    for (const name of DEVELOPMENT) delete manifest[name];
    // Names behind a `!` are for npm, which leaves them out.
    const files = manifest.files.filter((file) => !file.startsWith('!'));
    for (const file of [...files, ...ALWAYS]) cpSync(join(root, file), join(stage, file), { recursive: true });
    writeWithoutSpace(join(stage, 'config.schema.json'));
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  });
}

/** Writes JSON for editors to read: the repository's is for people, and more than twice as long. */
function writeWithoutSpace(file) {
  writeFileSync(file, `${JSON.stringify(JSON.parse(readFileSync(file, 'utf8')))}\n`);
}

/** Packs `@polygate/webhooks` into `folder`; returns the path of the file. */
export function packReceiver(folder) {
  return packStage(folder, (stage) => {
    for (const file of ['package.json', 'README.md', 'dist'])
      cpSync(join(RECEIVER_FOLDER, file), join(stage, file), { recursive: true });
    cpSync(join(root, 'LICENSE'), join(stage, 'LICENSE'));
  });
}

async function packStage(folder, fill) {
  const stage = mkdtempSync(join(tmpdir(), 'polygate-stage-'));
  try {
    fill(stage);
    let packed = '';
    await npm(['pack', stage, '--json', '--ignore-scripts', '--loglevel=error'], folder, (text) => {
      packed += text;
    });
    const [{ filename }] = Object.values(JSON.parse(packed));
    return join(folder, filename);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

if (process.argv[1] === import.meta.filename) {
  const [target = '.'] = process.argv.slice(2);
  if (target === '--advice') {
    say(
      'This folder is not the package. "npm run build" and then "npm run pack -- FOLDER" make the files to install or publish.',
    );
    process.exitCode = 1;
  } else if (!BUILT.every((file) => existsSync(file))) {
    say('There is nothing to pack yet. Type: npm run build');
    process.exitCode = 1;
  } else {
    const folder = resolve(target);
    mkdirSync(folder, { recursive: true });
    for (const file of [await pack(folder), await packReceiver(folder)]) process.stdout.write(`${file}\n`);
  }
}
