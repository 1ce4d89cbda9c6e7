/** `npm start -- ARGUMENTS`: installs the production packages, then runs the program, by default `serve`. */

import { join } from 'node:path';
import { installPackages, nodeProgram, root, run, say } from './install.mjs';

/** Options without a command are those of `serve`; a leading `--` disables that. */
function commandOf(args) {
  if (args[0] === '--') return args.slice(1);
  return args.length === 0 || args[0].startsWith('-') ? ['serve', ...args] : args;
}

try {
  await installPackages(root, 'production', 'the packages that running needs');
  const node = await nodeProgram();
  process.exitCode = await run(node, [join(root, 'src', 'main.ts'), ...commandOf(process.argv.slice(2))], {
    cwd: process.cwd(),
  });
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
