/**
 * `node scripts/run.mjs FILE ARGUMENTS`: runs a TypeScript file of the project with a recent Node, after installing the
 * packages it needs, for a test file the client SDKs too.
 */

import { join } from 'node:path';
import { installPackages, neededPackages, nodeProgram, root, run, say } from './install.mjs';

try {
  const [file, ...args] = process.argv.slice(2);
  const mode = neededPackages(file);
  await installPackages(root, mode, mode === 'all' ? 'all packages' : 'the packages that running needs');
  if (file.startsWith('test/')) {
    await installPackages(join(root, 'test', 'clients'), 'all', 'the clients that tests use');
  }
  process.exitCode = await run(await nodeProgram(), [join(root, file), ...args], { cwd: process.cwd() });
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
