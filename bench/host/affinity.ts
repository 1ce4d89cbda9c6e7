/** Processors that programs may run on, Linux only, by `taskset` of util-linux. */

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { treeOf } from './proc.ts';

/** Whether programs can be held to one of several processors here. */
export function canPin(): boolean {
  return availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0;
}

/** Holds this process and all that it started, with their threads, to one processor until `work` has ended. */
export async function onOneProcessor<Result>(work: () => Promise<Result>): Promise<Result> {
  const all = /^Cpus_allowed_list:\s+(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  const [first = '0'] = /^\d+/.exec(all) ?? [];
  try {
    pinTo(first);
    return await work();
  } finally {
    pinTo(all);
  }
}

function pinTo(processors: string): void {
  for (const pid of treeOf(process.pid)) {
    const { status, stderr } = spawnSync('taskset', ['--all-tasks', '--cpu-list', '--pid', processors, String(pid)]);
    if (status !== 0 && existsSync(`/proc/${pid}`)) throw new Error(`taskset: ${String(stderr).trim()}`);
  }
}
