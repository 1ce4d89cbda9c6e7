/**
 * `npm run test:python`: installs the Python SDKs, once, and runs their tests against the gateway. Arguments
 * are passed to unittest: `npm run test:python -- -k stream`. Exit code 2 when there is no Python, or it can't be set up.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installPackages, nodeProgram, root, run, say } from './install.mjs';
import { preparePython } from './virtual-environment.mjs';

const tests = join(root, 'test', 'python');
const [requirements, constraints] = ['requirements.txt', 'constraints.txt'].map((name) => join(tests, name));

try {
  const { problem, bin } = await preparePython({
    folder: join(tests, '.venv'),
    what: 'the Python SDKs',
    stamp: [requirements, constraints].map((path) => readFileSync(path, 'utf8')).join(''),
    packages: ['-r', requirements, '-c', constraints],
  });
  if (problem) {
    say(problem);
    process.exitCode = 2;
  } else {
    await installPackages(root, 'production', 'the packages that running needs');
    process.exitCode = await run(await nodeProgram(), [
      join(tests, 'main.ts'),
      bin('python'),
      ...process.argv.slice(2),
    ]);
  }
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
