/** Description of the machine in a results file: what explains the figures, and nothing that identifies it. */

import { readFileSync, statfsSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, tmpdir, totalmem } from 'node:os';

const TMPFS = 0x01021994;

export interface Machine {
  cores: number;
  processor: string;
  memoryGiB: number;
  kernel: string;
  node: string;
  /** Load average over a minute before the run. */
  load: number;
  nginx: boolean;
  /** The processes of the benchmark ran at a higher priority than others. */
  priority: boolean;
  /** A store in memory does not wait for a disk. */
  disk: 'disk' | 'memory';
}

export function describeMachine(nginx: boolean, priority: boolean): Machine {
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model.trim() || processorFromProc() || process.arch,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    load: Number((loadavg()[0] ?? 0).toFixed(1)),
    nginx,
    priority,
    disk: statfsSync(tmpdir()).type === TMPFS ? 'memory' : 'disk',
  };
}

function processorFromProc(): string | undefined {
  try {
    return /^model name\s*: (.+)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}
