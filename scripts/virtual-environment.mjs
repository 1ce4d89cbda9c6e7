/** Virtual environments of Python for tests: made once, with packages of pinned versions. */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, say } from './install.mjs';

/** Minor versions of Python 3 that the packages support. */
const OLDEST_MINOR = 11;
const NEWEST_MINOR = 14;

/**
 * Makes the environment if its packages, which `stamp` stands for, are not there. Resolves with the path of its programs,
 * or with the problem if it cannot be made. `packages` are arguments of pip.
 */
export async function preparePython({ folder, what, stamp, packages }) {
  const bin = (name) =>
    process.platform === 'win32' ? join(folder, 'Scripts', `${name}.exe`) : join(folder, 'bin', name);
  const stampFile = join(folder, 'polygate-installed');
  const hash = createHash('sha256').update(stamp).digest('hex');
  const isInstalled = existsSync(stampFile) && existsSync(bin('python')) && readFileSync(stampFile, 'utf8') === hash;
  if (isInstalled) return { bin };
  const found = findPython();
  if (!found)
    return { problem: `The tests of ${what} need Python 3.${OLDEST_MINOR} to 3.${NEWEST_MINOR}, and none was found.` };
  say(`Installing ${what} (once) ...`);
  rmSync(folder, { recursive: true, force: true });
  const quiet = { stdio: ['ignore', 2, 2] };
  if ((await run(found, ['-m', 'venv', folder], quiet)) !== 0)
    return {
      problem: `${found} makes no virtual environment; on Debian and Ubuntu it needs the package python3-venv.`,
    };
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages];
  if ((await run(bin('python'), install, quiet)) !== 0)
    return { problem: `pip could not install ${what}; is the package index (PyPI) within reach?` };
  writeFileSync(stampFile, hash);
  return { bin };
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
