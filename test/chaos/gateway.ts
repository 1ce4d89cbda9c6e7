/** A gateway as it runs in earnest: a process of its own with a configuration file, which scenarios kill, freeze and stop. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { pause, type Stage } from './stage.ts';

export const KEY = 'sk-chaos-gateway-key-0123456789';
export const SECRET = 'a-secret-of-the-whole-gateway';

const MAIN = join(import.meta.dirname, '../../src/main.ts');
const CA = join(import.meta.dirname, '../net/fixtures/test-only-ca.pem');
/** Milliseconds between two looks for its first word. */
const LOOK_INTERVAL = 10;
/** Milliseconds for a start on a machine that is busy. */
const PATIENCE = 30_000;

export interface GatewayOptions {
  /** Holds its configuration and, with the embedded store, its data. */
  folder: string;
  /** What the file says beside keys and callbacks. */
  yaml?: string;
  /** More keys, in the file's own spelling. */
  keys?: string;
  /** The store instead of the folder. */
  postgres?: string;
  /** By default one that the system chooses. */
  port?: number;
  /** What the process is started with instead of by itself. */
  under?: string[];
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Milliseconds, by `performance.now()`. */
  at: number;
}

export interface Gateway {
  url: string;
  pid: number;
  /** Milliseconds from its start to its first word. */
  startedIn: number;
  signal(name: NodeJS.Signals): void;
  /** Ends it at once. */
  kill(): Promise<void>;
  ended: Promise<Exit>;
  /** What it logged, and those before it in the folder. */
  log(): string;
}

export async function startGateway(stage: Stage, options: GatewayOptions): Promise<Gateway> {
  const { folder, port = 0, under = [] } = options;
  const file = join(folder, 'polygate.yaml');
  writeFileSync(file, configOf(options));
  const [program = '', ...args] = [...under, process.execPath, MAIN, 'serve', '--config', file, '--port', String(port)];
  const began = performance.now();
  const log = openSync(join(folder, 'log'), 'a');
  const logBefore = fstatSync(log).size;
  const child = spawn(program, args, {
    cwd: folder,
    env: { PATH: process.env.PATH },
    // A pipe would make it wait whenever we are busy.
    stdio: ['ignore', 'ignore', log],
  });
  closeSync(log);
  const end = () => void child.kill('SIGKILL');
  stage.atEnd(end);
  // Also where this process is ended before its time.
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
  const ended = once(child, 'exit').then(([code, signal]): Exit => ({ code, signal, at: performance.now() }));
  const words = () => readFileSync(join(folder, 'log')).subarray(logBefore).toString();
  let url: string | undefined;
  while (url === undefined) {
    url = /listens on (http:\S+)\n/.exec(words())?.[1];
    if (url === undefined && (child.exitCode !== null || performance.now() - began > PATIENCE))
      throw new Error(`The gateway did not start:\n${words().slice(-2000)}`);
    if (url === undefined) await pause(LOOK_INTERVAL);
  }
  return {
    ...{ url, pid: child.pid ?? 0, startedIn: performance.now() - began, ended },
    signal: (name) => void child.kill(name),
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    log: () => readFileSync(join(folder, 'log'), 'utf8'),
  };
}

function configOf({ folder, yaml = '', keys = '', postgres }: GatewayOptions): string {
  return `data: ${JSON.stringify(postgres ?? join(folder, 'data'))}
keys: [{ name: chaos, key: ${KEY} }, ${keys}]
encryption: { key: ${Buffer.alloc(32, 7).toString('base64')} }
callbacks: { secret: ${SECRET}, allow_cidrs: [127.0.0.0/8], ca_file: ${JSON.stringify(CA)} }
${yaml}`;
}

/** One that nobody listens on, so that a gateway can come back where it was. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** Rejects where the gateway cannot be reached. */
export async function ask(
  url: string,
  body?: unknown,
  {
    headers = {},
    method,
    patience = 30_000,
  }: { headers?: Record<string, string>; method?: string; patience?: number } = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(patience),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Milliseconds of processor time that each thread of a process has used, by thread id; Linux only. */
export function threadUsageOf(pid: number): Map<number, number> {
  const times = new Map<number, number>();
  for (const id of readdirSync(`/proc/${pid}/task`).map(Number)) {
    try {
      times.set(id, processorTimeOf(readFileSync(`/proc/${pid}/task/${id}/stat`, 'utf8')));
    } catch {
      // The thread has ended meanwhile.
    }
  }
  return times;
}

function processorTimeOf(stat: string): number {
  const times = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(times[11]) + Number(times[12])) * 10;
}

/** Bytes that a process holds in memory, and milliseconds of processor time that it has used; Linux only. */
export function usageOf(pid: number): { memory: number; processor: number } | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return { memory: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024, processor: processorTimeOf(stat) };
  } catch {
    return undefined;
  }
}
