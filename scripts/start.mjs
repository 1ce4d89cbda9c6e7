/** `npm start -- ARGUMENTS`: installs what running needs, then runs the program, by default `serve`. */

import { join } from 'node:path';
import { installPackages, nodeProgram, root, run, say } from './install.mjs';

/** After a leading `--` the arguments are taken as they are; otherwise options alone are those of `serve`. */
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
