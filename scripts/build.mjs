/** `npm run build`: compiles to `dist` for the npm package, and copies the data files. */

import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { installPackages, nodeProgram, root, run, say } from './install.mjs';

const DATA = ['catalog/models.json', 'catalog/rules.json', 'catalog/videos', 'store/migrations'];

try {
  await installPackages(root, 'all', 'all packages');
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  process.exitCode = await run(await nodeProgram(), [compiler, '-p', 'tsconfig.build.json']);
  for (const file of DATA) cpSync(join(root, 'src', file), join(root, 'dist', file), { recursive: true });
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
