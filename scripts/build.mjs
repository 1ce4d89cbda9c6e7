/**
 * `npm run build`: bundles the program to `dist` for the npm package, with the data files, the types of the webhook
 * receiver and the licences of the libraries.
 */

import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { bundle } from './bundle.mjs';
import { installPackages, nodeProgram, root, run, say } from './install.mjs';

/** Files and folders of `src` that the program reads while it runs. */
const DATA = ['catalog/models.json', 'catalog/rules.json', 'catalog/videos', 'store/migrations'];

try {
  await installPackages(root, 'all', 'all packages');
  const dist = join(root, 'dist');
  rmSync(dist, { recursive: true, force: true });
  const { files, licences } = await bundle({ source: join(root, 'src'), dist });
  for (const { path, contents } of files) write(path, contents);
  write(join(dist, 'LICENSES.txt'), licences);
  for (const file of DATA) cpSync(join(root, 'src', file), join(dist, file), { recursive: true });
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  process.exitCode = await run(await nodeProgram(), [compiler, '-p', 'tsconfig.build.json']);
  say(`${files.length} files of code in ${relative(root, dist)}.`);
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}

function write(path, contents) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, contents);
}
