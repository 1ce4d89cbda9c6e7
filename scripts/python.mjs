/**
 * `npm run test:python`: installs the Python SDKs, once, and runs their tests against the gateway. What stands behind it
 * goes to unittest: `npm run test:python -- -k stream`. Exit code 2 when there is no Python, or it can't be set up.
 */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installPackages, nodeProgram, root, run, say } from './install.mjs';

/** What the SDKs of requirements.txt run on. */
const OLDEST = 11;
const NEWEST = 14;

const tests = join(root, 'test', 'python');
const environment = join(tests, '.venv');
const stampFile = join(environment, 'polygate-installed');
const python =
  process.platform === 'win32' ? join(environment, 'Scripts', 'python.exe') : join(environment, 'bin', 'python');
const files = ['requirements.txt', 'constraints.txt'].map((name) => join(tests, name));

try {
  const problem = await prepare();
  if (problem) {
    say(problem);
    process.exitCode = 2;
  } else {
    await installPackages(root, 'production', 'the packages that running needs');
    process.exitCode = await run(await nodeProgram(), [join(tests, 'main.ts'), python, ...process.argv.slice(2)]);
  }
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}

/** Makes the virtual environment unless it is as it should be; gives what is missing for that. */
async function prepare() {
  const stamp = files.reduce((hash, file) => hash.update(readFileSync(file)), createHash('sha256')).digest('hex');
  if (existsSync(stampFile) && existsSync(python) && readFileSync(stampFile, 'utf8') === stamp) return undefined;
  const found = findPython();
  if (!found) return `The tests of the Python SDKs need Python 3.${OLDEST} to 3.${NEWEST}, and none was found.`;
  say('Installing the Python SDKs (once) ...');
  rmSync(environment, { recursive: true, force: true });
  const quiet = { stdio: ['ignore', 2, 2] };
  if ((await run(found, ['-m', 'venv', environment], quiet)) !== 0)
    return `${found} makes no virtual environment; on Debian and Ubuntu it needs the package python3-venv.`;
  const [requirements, constraints] = files;
  const install = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '-r',
    requirements,
    '-c',
    constraints,
  ];
  if ((await run(python, install, quiet)) !== 0)
    return 'pip could not install the Python SDKs; is the package index (PyPI) within reach?';
  writeFileSync(stampFile, stamp);
  return undefined;
}

function findPython() {
  const names = ['python3', 'python'];
  for (let minor = NEWEST; minor >= OLDEST; minor--) names.push(`python3.${minor}`);
  return names.find((name) => {
    const { stdout } = spawnSync(name, ['-c', 'import sys; print(*sys.version_info[:2])'], { encoding: 'utf8' });
    const [major, minor] = (stdout ?? '').split(' ').map(Number);
    return major === 3 && minor >= OLDEST && minor <= NEWEST;
  });
}
