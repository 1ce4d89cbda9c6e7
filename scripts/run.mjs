/** `node scripts/run.mjs FILE ARGUMENTS`: runs a TypeScript file of the project, with a Node that can and the packages it needs. */

import { join } from 'node:path';
import { installPackages, nodeProgram, root, run, say } from './install.mjs';

try {
  await installPackages(root, 'production', 'the packages that running needs');
  const [file, ...args] = process.argv.slice(2);
  process.exitCode = await run(await nodeProgram(), [join(root, file), ...args], { cwd: process.cwd() });
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
