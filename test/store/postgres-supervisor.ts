/**
 * Runs a PostgreSQL server for as long as somebody is connected to its socket, so that no test can leave one behind, and
 * the test files of a run share one. Everybody who connects is told the server's URL, or why there is none.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { findBinaries, SERVER_USER, temporaryFolder } from './postgres-binaries.ts';

/** Milliseconds without anybody until the server ends. */
const IDLE = 2000;
/** Milliseconds for an orderly end. */
const GRACE = 5000;

/** Nothing of it is kept, so only who measures it waits for the disk. */
const { POSTGRES_FSYNC = 'off' } = process.env;
const SETTINGS = {
  fsync: POSTGRES_FSYNC,
  full_page_writes: POSTGRES_FSYNC,
  shared_buffers: '32MB',
  max_connections: '200',
  unix_socket_directories: '',
  listen_addresses: '127.0.0.1',
  logging_collector: 'off',
};

interface Server {
  url: string;
  stop(): Promise<void>;
}

const [path = ''] = process.argv.slice(2);
const users = new Set<Socket>();
const folder = mkdtempSync(join(temporaryFolder(), 'polygate-postgres-'));
const starting = startServer(folder);
starting.catch(() => undefined);

let leaving = setTimeout(end, IDLE * 5);
const door = createServer((user) => {
  clearTimeout(leaving);
  users.add(user);
  user.on('error', () => undefined);
  user.on('close', () => {
    users.delete(user);
    if (users.size === 0) leaving = setTimeout(end, IDLE);
  });
  starting.then(
    ({ url }) => user.write(`${JSON.stringify({ url })}\n`),
    (error: Error) => user.write(`${JSON.stringify({ problem: error.message })}\n`),
  );
});
door.on('error', () => void takeOver());
door.listen(path);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end());

/** Somebody else serves the path, unless it is what a supervisor that was killed left. */
async function takeOver(): Promise<void> {
  const other = connect(path);
  other.on('connect', () => void end());
  other.on('error', () => {
    rmSync(path, { force: true });
    door.listen(path);
  });
}

async function end(): Promise<void> {
  door.close();
  const server = await starting.catch(() => undefined);
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
  process.exit();
}

async function startServer(scratch: string): Promise<Server> {
  chmodSync(scratch, 0o755);
  const binaries = findBinaries(scratch);
  const data = join(scratch, 'data');
  const password = randomBytes(16).toString('hex');
  const passwordFile = join(scratch, 'password');
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (SERVER_USER !== undefined) for (const own of [data, passwordFile]) chownSync(own, SERVER_USER, SERVER_USER);

  const initial = ['-D', data, '-U', 'postgres', `--pwfile=${passwordFile}`, '--auth=password'];
  const speed = ['--no-sync', '--no-instructions', '--encoding=UTF8', '--locale=C'];
  const made = launch(join(binaries, 'initdb'), [...initial, ...speed], scratch);
  if ((await made.ended) !== 0) throw new Error(`initdb failed: ${made.output()}`);

  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const options = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const server = launch(join(binaries, 'postgres'), ['-D', data, '-p', String(port), ...options], scratch);
    const isUp = await Promise.race([server.says(/ready to accept connections/), server.ended.then(() => false)]);
    const url = `postgres://postgres:${password}@127.0.0.1:${port}`;
    if (isUp) return { url, stop: () => stop(server.child, server.ended) };
    if (attempt === 3) throw new Error(`the server did not start: ${server.output()}`);
  }
}

interface Launched {
  child: ChildProcess;
  ended: Promise<number | null>;
  output(): string;
  says(pattern: RegExp): Promise<boolean>;
}

function launch(program: string, args: string[], cwd: string): Launched {
  const user = SERVER_USER === undefined ? {} : { uid: SERVER_USER, gid: SERVER_USER };
  // Messages in English, whatever the machine speaks.
  const env = { ...process.env, LC_ALL: 'C', LANGUAGE: 'C' };
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], ...user });
  let text = '';
  const watchers: (() => void)[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      // What it logs later is nobody's concern.
      text = (text + chunk).slice(-10_000);
      for (const watch of watchers) watch();
    });
  }
  const ended = new Promise<number | null>((resolve) => {
    child.on('error', (error) => {
      text += error.message;
      resolve(null);
    });
    child.on('close', resolve);
  });
  const says = (pattern: RegExp) =>
    new Promise<boolean>((resolve) => {
      watchers.push(() => pattern.test(text) && resolve(true));
    });
  return { child, ended, output: () => text, says };
}

async function stop(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  child.kill('SIGINT');
  const late = setTimeout(() => child.kill('SIGQUIT'), GRACE);
  await ended;
  clearTimeout(late);
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (typeof address !== 'object' || !address) throw new Error('there is no free port');
  return address.port;
}
