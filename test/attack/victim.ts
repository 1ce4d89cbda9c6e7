/** A gateway in a process of its own, so that its memory and its open files can be bounded and measured. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Victim {
  url: string;
  adminUrl: string;
  /** Bytes of memory at this moment. */
  memory(): number;
  close(): Promise<void>;
}

const PROGRAM = join(import.meta.dirname, 'victim-process.ts');

/** `maxFiles` is its limit of open files. */
export async function startVictim(yaml: string, { keys = [], maxFiles }: VictimOptions = {}): Promise<Victim> {
  const node = [process.execPath, PROGRAM, yaml, JSON.stringify(keys)];
  const shell = ['/bin/sh', '-c', `ulimit -n ${maxFiles} && exec "$@"`, 'sh', ...node];
  const [program = '', ...parameters] = maxFiles === undefined ? node : shell;
  const child = spawn(program, parameters, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const [{ url, adminUrl }] = await once(child, 'message');
  return {
    url,
    adminUrl,
    memory() {
      const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
      return Number(kilobytes) * 1024;
    },
    async close() {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

export interface VictimOptions {
  /** More keys, in the file's own spelling. */
  keys?: string[];
  maxFiles?: number;
}

/** Runs `work`, and returns the most memory that the victim had meanwhile beyond what it had before, in bytes. */
export async function memoryGrowth(victim: Victim, work: () => Promise<unknown>): Promise<number> {
  const before = victim.memory();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, victim.memory());
  }, 20);
  await work();
  clearInterval(timer);
  return Math.max(most, victim.memory()) - before;
}
