/**
 * `npm run test:agents`: installs coding agents from npm and PyPI into a folder of their own, once, and runs each of them
 * against the gateway. Words choose agents: `npm run test:agents -- claude codex`. What cannot be installed is a failure.
 */

import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installPackages, nodeProgram, root, run, say } from './install.mjs';
import { preparePython } from './virtual-environment.mjs';

const tests = join(root, 'test', 'agents');
const folder = join(root, '.node', 'agents');
const MANIFESTS = ['package.json', 'package-lock.json', '.npmrc'];

try {
  await installPackages(root, 'all', 'all packages');
  mkdirSync(folder, { recursive: true });
  for (const name of MANIFESTS) copyFileSync(join(tests, name), join(folder, name));
  await installPackages(folder, 'all', 'the coding agents of npm, about 1.5 GB');
  const { python } = JSON.parse(readFileSync(join(tests, 'package.json'), 'utf8'));
  const packages = Object.entries(python).map(([name, version]) => `${name}==${version}`);
  const { problem, bin } = await preparePython({
    folder: join(folder, 'python'),
    what: `the coding agents of PyPI (${packages})`,
    stamp: packages.join(),
    packages,
  });
  if (problem) throw new Error(problem);
  const chosen = process.argv.slice(2).flatMap((word) => ['--test-name-pattern', `^${word}`]);
  process.exitCode = await run(await nodeProgram(), ['--test', ...chosen, join(tests, 'agents.ts')], {
    env: { ...process.env, POLYGATE_AGENTS: join(folder, 'node_modules'), POLYGATE_AIDER: bin('aider') },
  });
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
