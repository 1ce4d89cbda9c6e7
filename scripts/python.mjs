/**
 * `npm run test:python`: installs the Python SDKs, once, and runs their tests against the gateway. Arguments
 * are passed to unittest: `npm run test:python -- -k stream`. Exit code 2 when there is no Python, or it can't be set up.
 */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installPackages, nodeProgram, root, run, say } from './install.mjs';

/** Minor versions of Python 3 that the SDKs in requirements.txt support. */
const OLDEST_MINOR = 11;
const NEWEST_MINOR = 14;

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

/** Creates the virtual environment if needed; resolves with the problem if it cannot. */
async function prepare() {
  const stamp = files.reduce((hash, file) => hash.update(readFileSync(file)), createHash('sha256')).digest('hex');
  if (existsSync(stampFile) && existsSync(python) && readFileSync(stampFile, 'utf8') === stamp) return undefined;
  const found = findPython();
  if (!found)
    return `The tests of the Python SDKs need Python 3.${OLDEST_MINOR} to 3.${NEWEST_MINOR}, and none was found.`;
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
  for (let minor = NEWEST_MINOR; minor >= OLDEST_MINOR; minor--) names.push(`python3.${minor}`);
  return names.find((name) => {
    const { stdout } = spawnSync(name, ['-c', 'import sys; print(*sys.version_info[:2])'], { encoding: 'utf8' });
    const [major, minor] = (stdout ?? '').split(' ').map(Number);
    return major === 3 && minor >= OLDEST_MINOR && minor <= NEWEST_MINOR;
  });
}
