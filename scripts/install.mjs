/** Installer of the npm scripts: packages as locked, and a recent Node if needed. Must run on Node 20. */

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const nodeFolder = join(root, '.node');
const pinnedFolder = join(nodeFolder, 'pinned');
/** Manifest of the pinned Node versions, and the lock file with their hashes. */
const PINS = ['package.json', 'package-lock.json'];
const pinnedNodes = JSON.parse(readFileSync(join(root, 'scripts/node/package.json'), 'utf8')).optionalDependencies;
/** Install scripts of packages are disabled. */
const NPM_FLAGS = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
const STAMP = '.polygate-installed';
/** Enables the compile cache of Node, which halves the start time. */
export const environment = { NODE_COMPILE_CACHE: join(nodeFolder, 'compiled'), ...process.env };
/** A lock older than this is stale, even if its owner runs. */
const STALE_LOCK_MS = 30 * 60_000;

/** The packages that a file of the project needs: those for development too, unless it is part of the program. The benchmark bundles the program. */
export function neededPackages(file) {
  return file.startsWith('src/') ? 'production' : 'all';
}

/** Installs the packages of `folder`; `mode` is `production` or `all`, which includes production. */
export async function installPackages(folder, mode, what) {
  if (isInstalled(folder, mode)) return;
  await withLock(async () => {
    if (isInstalled(folder, mode)) return;
    say(`Installing ${what} (once) ...`);
    unlinkPackages(folder);
    await npm(['ci', ...NPM_FLAGS, ...(mode === 'production' ? ['--omit=dev'] : [])], folder);
    writeFileSync(join(folder, 'node_modules', STAMP), stamp(folder, mode));
  });
}

/** Packages that are a link to those of another checkout stay as that one has them: npm would delete them through the link. */
function unlinkPackages(folder) {
  const path = join(folder, 'node_modules');
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) unlinkSync(path);
}

/** Path of a Node that is new enough: this one, else the pinned one, which is installed if needed. */
export async function nodeProgram() {
  if (isNewEnough(process.versions.node)) return process.execPath;
  const version = pinnedNodes[platformPackage()];
  if (version === undefined) throw new Error(advice(`no Node is pinned for ${process.platform} on ${process.arch}`));
  if (!pinnedNode(version)) {
    await withLock(async () => {
      if (pinnedNode(version)) return;
      say(`Installing Node ${version} beside the project, because this one is ${process.versions.node} (once) ...`);
      mkdirSync(pinnedFolder, { recursive: true });
      for (const file of PINS) copyFileSync(join(root, 'scripts', 'node', file), join(pinnedFolder, file));
      await npm(['ci', ...NPM_FLAGS], pinnedFolder);
    });
  }
  const program = pinnedNode(version);
  if (!program) throw new Error(advice(`Node ${version} could not be installed, or is not the one that is pinned`));
  return program;
}

function advice(problem) {
  return `Node ${manifest.engines.node} is needed: this one is ${process.versions.node}, and ${problem}. Please install one yourself.`;
}

/** Runs a program with this process's input, output and signals; resolves with its exit code. */
export function run(program, args, { cwd = root, stdio = 'inherit', env = environment, shell = false, onOutput } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio, env, shell });
    if (onOutput) child.stdout.setEncoding('utf8').on('data', onOutput);
    const forward = (signal) => child.kill(signal);
    const signals = process.platform === 'win32' ? ['SIGINT', 'SIGTERM'] : ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.on(signal, forward);
    const orphanCheck = onOrphaned(() => child.kill('SIGTERM'));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearInterval(orphanCheck);
      for (const name of signals) process.off(name, forward);
      resolve(code ?? 128 + constants.signals[signal]);
    });
  });
}

/** Calls `end` when the parent exits: npm's shell does not forward signals, so its exit is the only sign. */
function onOrphaned(end) {
  if (!process.env.npm_lifecycle_event) return undefined;
  const parent = process.ppid;
  const watching = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watching);
    end();
  }, 500);
  return watching.unref();
}

export function say(text) {
  process.stderr.write(`${text}\n`);
}

function isInstalled(folder, mode) {
  const path = join(folder, 'node_modules', STAMP);
  if (!existsSync(path)) return false;
  const found = readFileSync(path, 'utf8');
  return found === stamp(folder, 'all') || found === stamp(folder, mode);
}

function stamp(folder, mode) {
  const lock = readFileSync(join(folder, 'package-lock.json'));
  return `${mode} ${createHash('sha256').update(lock).digest('hex')} ${process.platform}-${process.arch}\n`;
}

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number);
  const [neededMajor, neededMinor] = manifest.engines.node.match(/\d+/g).map(Number);
  return major > neededMajor || (major === neededMajor && minor >= neededMinor);
}

/** The program of the pinned Node, if it is installed. */
function pinnedNode(version) {
  const folder = join(pinnedFolder, 'node_modules', platformPackage());
  const program = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (!existsSync(program)) return undefined;
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version === version ? program : undefined;
}

function platformPackage() {
  return `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
}

/** Runs npm; output goes to `onOutput` or standard error. Throws if it fails. */
export async function npm(args, folder, onOutput) {
  mkdirSync(folder, { recursive: true });
  const own = process.env.npm_execpath;
  const options = { cwd: folder, stdio: ['ignore', onOutput ? 'pipe' : 2, 2], onOutput };
  const code =
    own && basename(own) === 'npm-cli.js'
      ? await run(process.execPath, [own, ...args], options)
      : await run('npm', process.platform === 'win32' ? args.map(quoted) : args, {
          ...options,
          shell: process.platform === 'win32',
        });
  if (code !== 0) throw new Error(`npm ${args[0]} failed in ${folder} with exit code ${code}.`);
}

function quoted(argument) {
  return `"${argument}"`;
}

/** Runs `work` in one process at a time; takes over the lock of a dead owner. */
async function withLock(work) {
  const lock = join(nodeFolder, 'install.lock');
  mkdirSync(nodeFolder, { recursive: true });
  for (let told = false; !acquire(lock); told = true) {
    if (!told) say(`Waiting for another installation to finish (it holds ${lock}) ...`);
    await wait(200);
  }
  try {
    await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function acquire(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (isAbandoned(lock)) rmSync(lock, { force: true });
    return false;
  }
}

function isAbandoned(lock) {
  try {
    if (Date.now() - statSync(lock).mtimeMs > STALE_LOCK_MS) return true;
    const owner = Number(readFileSync(lock, 'utf8'));
    if (owner > 0) process.kill(owner, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}
