/** `npm run test:corpus [FOLDER] [-- --json]`: installs what tests need, then judges the gateway by recorded traffic. */

import { join } from 'node:path';
import { installPackages, nodeProgram, root, run, say } from './install.mjs';

try {
  await installPackages(root, 'all', 'all packages');
  const node = await nodeProgram();
  process.exitCode = await run(node, [join(root, 'test', 'corpus', 'main.ts'), ...process.argv.slice(2)]);
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
