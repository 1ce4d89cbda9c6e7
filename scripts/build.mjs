/**
 * `npm run build`: bundles the program to `dist` for the npm package, with the data files, the types of the webhook
 * receiver, the pages of the dashboard and the licences of the libraries; and the receiver alone for the package
 * `@polygate/webhooks`.
 */

import { appendFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { bundleReceiver, writeBundle } from './bundle.mjs';
import { installPackages, nodeProgram, root, run, say } from './install.mjs';
import { buildPages } from './pages.mjs';

/** Folder of the pages, which are built anew when their source has changed. */
const PAGES = 'ui';

try {
  await installPackages(root, 'all', 'all packages');
  const dist = join(root, 'dist');
  for (const name of existsSync(dist) ? readdirSync(dist) : [])
    if (name !== PAGES) rmSync(join(dist, name), { recursive: true, force: true });
  const files = await writeBundle({ source: join(root, 'src'), dist });
  cpSync(join(root, 'scripts', 'entry.cjs'), join(dist, 'polygate.cjs'));
  await buildPages();
  addPageLicences(dist);
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  process.exitCode = await run(await nodeProgram(), [compiler, '-p', 'tsconfig.build.json']);
  await buildReceiver(dist);
  say(`${files} files of code in ${relative(root, dist)}.`);
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}

/** One file has all licences as text; the pages have theirs for browsers, compressed. */
function addPageLicences(dist) {
  const licences = brotliDecompressSync(readFileSync(join(dist, PAGES, 'LICENSES.txt.br')));
  appendFileSync(join(dist, 'LICENSES.txt'), `\n${licences}`);
}

async function buildReceiver(dist) {
  const folder = join(root, 'packages', 'webhooks');
  const receiver = join(folder, 'dist');
  rmSync(receiver, { recursive: true, force: true });
  await bundleReceiver({ source: join(root, 'src'), dist: receiver });
  for (const types of ['verify.d.ts', 'verify.d.cts'])
    cpSync(join(dist, 'webhooks', 'verify.d.ts'), join(receiver, types));
}
