/** Writes of a running process to some of its files that fail or take long as on a broken disk, by strace; Linux only. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { pause, type Stage, within } from './stage.ts';

export interface FaultyWrites {
  /** Begins to fail. */
  begin(pid: number): Promise<void>;
  end(): Promise<void>;
}

/** System calls that change a file. */
const WRITES = 'pwrite64,write,ftruncate,fallocate';

/** `fault` as strace names it, e.g. `error=ENOSPC`. Undefined where strace is missing or may not attach. */
export function createFaultyWrites(
  stage: Stage,
  { paths, fault }: { paths: readonly string[]; fault: string },
): FaultyWrites | undefined {
  if (!mayTrace()) return undefined;
  let tracer: ReturnType<typeof spawn> | undefined;
  return {
    async begin(pid) {
      const places = paths.flatMap((path) => ['-P', path]);
      const faults = ['-e', `trace=${WRITES}`, '-e', `inject=${WRITES}:${fault}`];
      tracer = spawn('strace', ['-f', '-p', String(pid), '-o', '/dev/null', ...places, ...faults], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      stage.atEnd(() => tracer?.kill('SIGKILL'));
      let words = '';
      tracer.stderr?.setEncoding('utf8').on('data', (text: string) => {
        words += text;
      });
      if (!(await within(5000, () => / attached/.test(words)))) throw new Error(`strace did not attach: ${words}`);
      await pause(100);
    },
    async end() {
      if (!tracer) return;
      const ended = once(tracer, 'exit');
      tracer.kill('SIGINT');
      await ended;
    },
  };
}

function mayTrace(): boolean {
  if (spawnSync('strace', ['-V']).status !== 0) return false;
  return spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;
}
