/** PostgreSQL servers of a scenario's own, which it kills and fails over: a primary, and a standby if wanted. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { findBinaries, SERVER_USER, temporaryFolder } from '../store/postgres-binaries.ts';
import { freePort } from './gateway.ts';
import { type Stage, within } from './stage.ts';

export interface Server {
  port: number;
  url: string;
  start(): Promise<void>;
  /** Ends all its processes at once. */
  kill(): Promise<void>;
}

const PASSWORD = 'of-a-test-alone';
const SETTINGS = ['shared_buffers=32MB', 'max_connections=100', 'unix_socket_directories=', 'wal_keep_size=256MB'];
const START_TIMEOUT_MS = 30_000;

/** One server, which runs. `settings` are `name=value`. */
export async function startPrimary(stage: Stage, settings: readonly string[] = []): Promise<Server> {
  const home = initialise(stage);
  const server = await serverOn(stage, home, settings);
  await server.start();
  return server;
}

/** Two servers: a commit on the first counts when the second has it on disk too. */
export async function startPair(stage: Stage): Promise<{ primary: Server; standby: Server }> {
  const home = initialise(stage);
  const data = join(home.folder, 'standby');
  cpSync(home.data, data, { recursive: true });
  writeFileSync(join(data, 'standby.signal'), '');
  chmodSync(data, 0o700);
  if (SERVER_USER !== undefined) chownAll(data, SERVER_USER);
  const primary = await serverOn(stage, home, ['synchronous_standby_names=*']);
  const source = `host=127.0.0.1 port=${primary.port} user=postgres password=${PASSWORD}`;
  const standby = await serverOn(stage, { ...home, data }, [
    `primary_conninfo=${source}`,
    'synchronous_standby_names=',
  ]);
  await primary.start();
  await standby.start();
  const isFollowed = async () =>
    (await query(primary.url, "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")).length > 0;
  if (!(await within(START_TIMEOUT_MS, isFollowed))) throw new Error('the standby does not follow the primary');
  return { primary, standby };
}

/** Runs a statement as the owner of the server. */
export async function query(url: string, statement: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

interface Home {
  folder: string;
  binaries: string;
  data: string;
}

function initialise(stage: Stage): Home {
  const folder = mkdtempSync(join(temporaryFolder(), 'polygate-cluster-'));
  stage.atEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  chmodSync(folder, 0o755);
  const binaries = findBinaries(folder);
  const data = join(folder, 'data');
  const passwordFile = join(folder, 'password');
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(passwordFile, PASSWORD, { mode: 0o600 });
  if (SERVER_USER !== undefined) for (const path of [data, passwordFile]) chownSync(path, SERVER_USER, SERVER_USER);
  const args = ['-D', data, '-U', 'postgres', `--pwfile=${passwordFile}`, '--auth=password', '--no-sync'];
  const made = spawnSync(join(binaries, 'initdb'), [...args, '--encoding=UTF8', '--locale=C'], inFolder(folder));
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  return { folder, binaries, data };
}

async function serverOn(stage: Stage, { folder, binaries, data }: Home, settings: readonly string[]): Promise<Server> {
  const port = await freePort();
  const url = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`;
  const options = [...SETTINGS, 'listen_addresses=127.0.0.1', ...settings].flatMap((setting) => ['-c', setting]);
  let child: ChildProcess | undefined;

  async function kill(): Promise<void> {
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child?.once('exit', resolve));
    const workers = childrenOf(child.pid);
    child.kill('SIGKILL');
    for (const pid of workers) killOne(pid);
    await ended;
  }
  stage.atEnd(kill);
  process.once('exit', () => child?.kill('SIGKILL'));

  return {
    ...{ port, url, kill },
    async start() {
      let words = '';
      child = spawn(join(binaries, 'postgres'), ['-D', data, '-p', String(port), ...options], {
        ...inFolder(folder),
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        words = (words + text).slice(-5000);
      });
      const isUp = () => query(url, 'SELECT 1').then(...yesOrNo);
      if (!(await within(START_TIMEOUT_MS, isUp))) throw new Error(`PostgreSQL did not start: ${words}`);
    },
  };
}

const yesOrNo = [() => true, () => false] as const;

function inFolder(cwd: string) {
  const user = SERVER_USER === undefined ? {} : { uid: SERVER_USER, gid: SERVER_USER };
  return { cwd, env: { ...process.env, LC_ALL: 'C' }, encoding: 'utf8' as const, ...user };
}

function chownAll(folder: string, user: number): void {
  chownSync(folder, user, user);
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    chownSync(join(folder, name), user, user);
}

/** Linux only; elsewhere they notice by themselves that their parent is gone. */
function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  } catch {
    return [];
  }
}

function killOne(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone.
  }
}
