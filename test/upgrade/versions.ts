/** The gateway in two versions, as programs in one folder: this one, and the packed release before it. */

import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';

const RELEASE = join(import.meta.dirname, 'release');
/** Of a start or a stop, on a busy machine. */
const TIMEOUT_MS = 90_000;

export interface Version {
  name: 'release' | 'this version';
  main: string;
}

export interface Versions {
  folder: string;
  release: Version;
  current: Version;
  start(version: Version, args?: string[]): Promise<Gateway>;
}

export interface Gateway {
  name: Version['name'];
  url: string;
  signal(name: NodeJS.Signals): void;
  /** Stops in peace; throws with the log unless it ends so. */
  stop(): Promise<void>;
  log(): string;
}

export async function bothVersions(context: TestContext): Promise<Versions> {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-upgrade-'));
  const children: ChildProcess[] = [];
  context.after(() => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });
  const [file, ...others] = readdirSync(RELEASE).filter((name) => name.endsWith('.tgz'));
  assert.ok(file && others.length === 0, 'test/upgrade/release holds one packed release');
  await promisify(execFile)('tar', ['-xzf', join(RELEASE, file), '-C', folder]);
  return {
    folder,
    release: { name: 'release', main: join(folder, 'package', 'dist', 'main.js') },
    current: {
      name: 'this version',
      main: process.env.POLYGATE_PROGRAM ?? join(import.meta.dirname, '../../src/main.ts'),
    },
    async start({ name, main }, args = []) {
      const child = spawn(process.execPath, [main, 'serve', ...args], {
        cwd: folder,
        env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      children.push(child);
      return following(name, child);
    },
  };
}

async function following(name: Version['name'], child: ChildProcess): Promise<Gateway> {
  let log = '';
  const ended = once(child, 'close');
  const banner = Promise.withResolvers<void>();
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
    if (log.includes('Ctrl-C')) banner.resolve();
  });
  await within(Promise.race([banner.promise, ended]), () => `${name} does not start:\n${log}`);
  const [, url] = /listens on (http:\/\/\S+)/.exec(log) ?? assert.fail(`${name} ended:\n${log}`);
  return {
    name,
    url: url ?? '',
    log: () => log,
    signal: (signal) => void child.kill(signal),
    async stop() {
      child.kill('SIGTERM');
      const [code] = await within(ended, () => `${name} does not stop:\n${log}`);
      assert.equal(code, 0, `${name}:\n${log}`);
    },
  };
}

async function within<Result>(work: Promise<Result>, problem: () => string): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(problem())), TIMEOUT_MS);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
