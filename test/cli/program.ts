/** Runs the real program in a folder of its own, with an environment that holds nothing else. */

import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { TestContext } from 'node:test';

const main = join(import.meta.dirname, '../../src/main.ts');

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  /** Resolves with all of the output so far as soon as it matches; throws when the program ends before. */
  shows(pattern: RegExp, stream?: 'stdout' | 'stderr'): Promise<RegExpExecArray>;
  signal(name: NodeJS.Signals): void;
  ended: Promise<Outcome>;
}

export interface Program {
  folder: string;
  run(args: string[], environment?: Record<string, string>): Promise<Outcome>;
  start(args: string[], environment?: Record<string, string>): Running;
}

export function program(context: TestContext): Program {
  const folder = mkdtempSync(join(tmpdir(), 'polygate cli-'));
  const children: ChildProcessByStdio<null, Readable, Readable>[] = [];
  context.after(() => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  function start(args: string[], environment: Record<string, string> = {}): Running {
    const { PATH, SystemRoot, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, SystemRoot, NODE_COMPILE_CACHE, ...environment };
    const child = spawn(process.execPath, [main, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    children.push(child);
    return following(child);
  }

  return { folder, start, run: (args, environment) => start(args, environment).ended };
}

function following(child: ChildProcessByStdio<null, Readable, Readable>): Running {
  const seen = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      seen[stream] += text;
    });
  }
  const ended = once(child, 'close').then(([code]): Outcome => ({ code, ...seen }));
  const shows: Running['shows'] = async (pattern, stream = 'stdout') => {
    for (;;) {
      const found = pattern.exec(seen[stream]);
      if (found) return found;
      const more = await Promise.race([once(child[stream], 'data'), ended.then(() => undefined)]);
      if (!more && !pattern.test(seen[stream])) assert.fail(`${pattern} did not come:\n${seen.stdout}\n${seen.stderr}`);
    }
  };
  return { shows, ended, signal: (name) => void child.kill(name) };
}
