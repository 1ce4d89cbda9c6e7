/**
 * The program in a folder of its own, with an environment that holds nothing else: as a process, or one command after the
 * other in a process that tests share.
 */

import assert from 'node:assert/strict';
import { type ChildProcess, type ChildProcessByStdio, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import type { CommandRequest } from './command-server.ts';

/** `npm run test:package` names the installed one. */
const main = process.env.POLYGATE_PROGRAM ?? join(import.meta.dirname, '../../src/main.ts');

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  pid: number;
  /** Resolves with all of the output so far, by default that of standard error, as soon as it matches; throws when the program ends before. */
  shows(pattern: RegExp, stream?: 'stdout' | 'stderr'): Promise<RegExpExecArray>;
  signal(name: NodeJS.Signals): void;
  ended: Promise<Outcome>;
}

export interface Program {
  folder: string;
  /** Runs a command that ends by itself, through the function that the program calls. */
  run(args: string[], environment?: Record<string, string>): Promise<Outcome>;
  /** Starts the program as a user does. */
  start(args: string[], environment?: Record<string, string>): Running;
}

export function program(context: TestContext): Program {
  const folder = mkdtempSync(join(tmpdir(), 'polygate cli-'));
  const children: ChildProcessByStdio<null, Readable, Readable>[] = [];
  context.after(() => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  function start(args: string[], environment: Record<string, string> = {}): Running {
    const env = { ...inherited(), ...environment };
    const child = spawn(process.execPath, [main, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    children.push(child);
    return following(child);
  }

  function run(args: string[], environment: Record<string, string> = {}): Promise<Outcome> {
    if (args[0] === 'serve' && !args.includes('--help')) return start(args, environment).ended;
    return ask({ args, folder, environment: { ...inherited(), ...environment } });
  }

  return { folder, start, run };
}

function inherited(): CommandRequest['environment'] {
  const { PATH, SystemRoot, NODE_COMPILE_CACHE } = process.env;
  return { PATH, SystemRoot, NODE_COMPILE_CACHE };
}

let server: ChildProcess | undefined;
let last: Promise<unknown> = Promise.resolve();

/** One command at a time: they share the output and the folder of their process, which ends with this one. */
function ask(request: CommandRequest): Promise<Outcome> {
  const answer = last.then(async () => {
    server ??= fork(join(import.meta.dirname, 'command-server.ts'), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    server.ref();
    server.channel?.ref();
    server.send(request);
    const waiting = new AbortController();
    const [outcome] = await Promise.race([
      once(server, 'message', waiting),
      once(server, 'exit', waiting).then(() => assert.fail(`polygate ${request.args.join(' ')} ended its process`)),
    ]).finally(() => waiting.abort());
    server.unref();
    server.channel?.unref();
    return outcome as Outcome;
  });
  last = answer.catch(() => {});
  return answer;
}

function following(child: ChildProcessByStdio<null, Readable, Readable>): Running {
  const seen = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      seen[stream] += text;
    });
  }
  const ended = once(child, 'close').then(([code]): Outcome => ({ code, ...seen }));
  const shows: Running['shows'] = async (pattern, stream = 'stderr') => {
    for (;;) {
      const found = pattern.exec(seen[stream]);
      if (found) return found;
      const more = await Promise.race([once(child[stream], 'data'), ended.then(() => undefined)]);
      if (!more && !pattern.test(seen[stream])) assert.fail(`${pattern} did not come:\n${seen.stdout}\n${seen.stderr}`);
    }
  };
  assert.ok(child.pid);
  return { pid: child.pid, shows, ended, signal: (name) => void child.kill(name) };
}
