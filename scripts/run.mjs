/**
 * `node scripts/run.mjs FILE ARGUMENTS`: runs a TypeScript file of the project, with a Node that can and the packages it
 * needs: a file of the tests may use all of them, and the clients too.
 */

import { join } from 'node:path';
import { installPackages, nodeProgram, root, run, say } from './install.mjs';

try {
  const [file, ...args] = process.argv.slice(2);
  if (file.startsWith('test/')) {
    await installPackages(root, 'all', 'all packages');
    await installPackages(join(root, 'test', 'clients'), 'all', 'the clients that tests use');
  } else await installPackages(root, 'production', 'the packages that running needs');
  process.exitCode = await run(await nodeProgram(), [join(root, file), ...args], { cwd: process.cwd() });
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
