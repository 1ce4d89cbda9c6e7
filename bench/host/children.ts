/** Processes of the benchmark: started with a folder of their own, ended with it, also where it is killed. */

import { type ChildProcess, type Serializable, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, fstatSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const START_TIMEOUT_MS = 60_000;
/** Interval between two looks for an output: a pipe would make the program wait whenever the benchmark is busy. */
const LOOK_INTERVAL_MS = 2;
/** The kernel kills the child when its parent dies. */
const SETPRIV = '/usr/bin/setpriv';

/** Of all programs; the second as in the image and in the unit of systemd. */
const COMMON = { LC_ALL: 'C.UTF-8', MALLOC_ARENA_MAX: '2' };

const running = new Set<ChildProcess>();
const folders = new Set<string>();

export interface Child {
  pid: number;
  /** Resolves with the first message, which is a program's sign that it listens. */
  firstMessage(): Promise<Serializable>;
  /** Resolves with the first output that matches, on any of its streams. */
  output(pattern: RegExp): Promise<RegExpExecArray>;
  ask(question: string): Promise<Serializable>;
  stop(): Promise<void>;
}

export interface ChildOptions {
  folder: string;
  env?: Record<string, string>;
  /** Opens a channel for messages, for programs in Node. */
  withChannel?: boolean;
}

export function startChild(program: string, args: readonly string[], options: ChildOptions): Child {
  const log = openSync(join(options.folder, 'log'), 'a');
  const logBefore = fstatSync(log).size;
  const [file = '', ...rest] = [
    ...(existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'KILL'] : []),
    ...[program, ...args],
  ];
  const child = spawn(file, rest, {
    cwd: options.folder,
    env: { ...COMMON, PATH: process.env.PATH, HOME: process.env.HOME, ...options.env },
    stdio: ['ignore', log, log, ...(options.withChannel ? (['ipc'] as const) : [])],
  });
  closeSync(log);
  running.add(child);
  const ended = once(child, 'exit').then(() => void running.delete(child));
  const output = () => readFileSync(join(options.folder, 'log')).subarray(logBefore).toString();
  const failed = (): Error => new Error(`${program} did not start:\n${output().slice(-2000)}`);

  function started<Value>(value: Promise<Value>): Promise<Value> {
    return Promise.race([value, Promise.race([ended, delay(START_TIMEOUT_MS)]).then(() => Promise.reject(failed()))]);
  }

  return {
    pid: child.pid ?? 0,
    firstMessage: () => started(once(child, 'message').then(([message]) => message)),
    output: (pattern) =>
      started(
        new Promise((resolve) => {
          const looking = setInterval(() => {
            const match = pattern.exec(output());
            if (match) resolve(match);
            if (match || child.exitCode !== null) clearInterval(looking);
          }, LOOK_INTERVAL_MS);
        }),
      ),
    async ask(question) {
      const answer = once(child, 'message');
      child.send(question);
      return (await answer)[0];
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await Promise.race([ended, delay(3000)]);
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** A temporary folder, removed at the end of the benchmark. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-bench-'));
  folders.add(folder);
  return folder;
}

export function endEverything(): void {
  for (const child of running) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

export function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds).unref());
}
