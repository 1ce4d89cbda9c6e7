/**
 * `npm start` and `npm run polygate -- ARGUMENTS`: installs the production packages, then runs the program. Beside a gateway it
 * builds the pages of the dashboard, once.
 */

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { environment, installPackages, nodeProgram, root, run, say } from './install.mjs';
import { arePagesBuilt } from './pages.mjs';

/** Options after which no gateway runs. */
const ASKING = ['--version', '-V', '--help', '-h'];

try {
  await installPackages(root, 'production', 'the packages that running needs');
  const node = await nodeProgram();
  const args = process.argv.slice(2);
  const building = isServing(args) && !arePagesBuilt() ? startBuilding(node) : undefined;
  process.exitCode = await run(node, [join(root, 'src', 'main.ts'), ...args], { cwd: process.cwd() });
  building?.kill('SIGTERM');
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}

/** Options without a command are those of `serve`. */
function isServing([first]) {
  if (ASKING.includes(first)) return false;
  return first === undefined || first === 'serve' || first.startsWith('-');
}

/** Builds the pages in a process of its own. The gateway does not wait for them. */
function startBuilding(node) {
  const stdio = ['ignore', 'ignore', 'inherit'];
  // The progress of npm would wipe the lines of the gateway off a terminal.
  const env = { ...environment, npm_config_progress: 'false' };
  return spawn(node, [join(root, 'scripts', 'pages.mjs')], { stdio, env }).on('error', () => undefined);
}
