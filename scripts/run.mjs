/**
 * `node scripts/run.mjs FILE ARGUMENTS`: runs a TypeScript file of the project with a recent Node, after installing the
 * packages it needs: all packages and the client SDKs for a test file, all packages for the benchmark, which bundles the
 * program, else those for production.
 */

import { join } from 'node:path';
import { installPackages, nodeProgram, root, run, say } from './install.mjs';

try {
  const [file, ...args] = process.argv.slice(2);
  if (file.startsWith('test/')) {
    await installPackages(root, 'all', 'all packages');
    await installPackages(join(root, 'test', 'clients'), 'all', 'the clients that tests use');
  } else if (file.startsWith('bench/')) await installPackages(root, 'all', 'all packages');
  else await installPackages(root, 'production', 'the packages that running needs');
  process.exitCode = await run(await nodeProgram(), [join(root, file), ...args], { cwd: process.cwd() });
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
