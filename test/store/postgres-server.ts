/** Databases on a real PostgreSQL server, which starts with the first one and ends soon after the last process that uses it. */

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { temporaryFolder } from './postgres-binaries.ts';

/** Milliseconds for a server to come up on a machine that is busy. */
const PATIENCE = 30_000;
/** Milliseconds between two looks for it. */
const LOOK = 25;
/** Key of the advisory lock of those who make a template; arbitrary. */
const TEMPLATE_LOCK = 7_112_026;

export interface TestDatabase {
  url: string;
  close(): Promise<void>;
}

let server: Promise<string> | undefined;

/** A database that nobody else uses: empty, or a copy. */
export async function providePostgres(template?: string): Promise<TestDatabase> {
  server ??= findServer();
  const url = await server;
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await administer(url, `CREATE DATABASE ${name} ${template === undefined ? '' : `TEMPLATE ${template}`}`);
  return {
    url: `${url}/${name}`,
    close: () => administer(url, `DROP DATABASE ${name} WITH (FORCE)`),
  };
}

/** Makes a database to copy, unless a process of this run has made it. `fill` gets its URL. */
export async function provideTemplate(name: string, fill: (url: string) => Promise<void>): Promise<void> {
  server ??= findServer();
  const url = await server;
  const client = new Client({ connectionString: `${url}/postgres` });
  await client.connect();
  try {
    await client.query(`SELECT pg_advisory_lock(${TEMPLATE_LOCK})`);
    const { rows } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
    if (rows.length > 0) return;
    // A process that was killed may have left it unfinished.
    await client.query(`DROP DATABASE IF EXISTS ${name}_unfinished WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${name}_unfinished`);
    await fill(`${url}/${name}_unfinished`);
    await client.query(`ALTER DATABASE ${name}_unfinished ALLOW_CONNECTIONS false`);
    await client.query(`ALTER DATABASE ${name}_unfinished RENAME TO ${name}`);
  } finally {
    await client.end();
  }
}

/** Runs a statement on the server's own behalf. */
async function administer(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: `${url}/postgres` });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** All processes that one test runner starts share a server. */
async function findServer(): Promise<string> {
  const name = `polygate-postgres-${process.ppid}`;
  const path = process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : join(temporaryFolder(), `${name}.socket`);
  const deadline = performance.now() + PATIENCE;
  for (let attempt = 0; performance.now() < deadline; attempt++) {
    const socket = await reach(path);
    if (socket) return await greet(socket);
    if (attempt % 100 === 0) supervise(path);
    await wait(LOOK);
  }
  throw new Error('the PostgreSQL server for the tests did not start in time');
}

function supervise(path: string): void {
  const program = join(import.meta.dirname, 'postgres-supervisor.ts');
  spawn(process.execPath, [program, path], { detached: true, stdio: 'ignore' }).unref();
}

async function reach(path: string): Promise<Socket | undefined> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return socket;
  } catch {
    return undefined;
  }
}

/** The connection stays open until this process ends: it is what keeps the server alive. */
async function greet(socket: Socket): Promise<string> {
  const [line] = await once(createInterface(socket), 'line');
  const { url, problem } = JSON.parse(line);
  if (problem !== undefined) throw new Error(problem);
  socket.on('error', () => undefined).unref();
  return url;
}
