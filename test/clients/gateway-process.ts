/** The gateway as a user starts it: a process of its own without any configuration, its first key read off its output. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface GatewayProcess {
  url: string;
  key: string;
  /** Stops it; throws if it had reported an error of its own meanwhile. */
  close(): Promise<void>;
}

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export async function startGatewayProcess(): Promise<GatewayProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-clients-'));
  const child = spawn(process.execPath, [MAIN, 'serve', '--port', '0'], {
    cwd: folder,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = collect(child);
  const { url, key } = await greeting(child, output);
  return {
    url,
    key,
    async close() {
      child.kill('SIGTERM');
      await once(child, 'close');
      rmSync(folder, { recursive: true });
      const problem = output.stderr.split('\n').find((line) => line.includes('internal error'));
      if (problem) throw new Error(`The gateway had a problem: ${problem}`);
    },
  };
}

interface Output {
  stdout: string;
  stderr: string;
}

function collect(child: ChildProcess): Output {
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  return output;
}

function greeting(child: ChildProcess, output: Output): Promise<{ url: string; key: string }> {
  return new Promise((resolve, reject) => {
    child.stderr?.on('data', () => {
      const url = /listens on (http:\S+)\n/.exec(output.stderr)?.[1];
      const key = /^ +(sk-\S+)\n/m.exec(output.stderr)?.[1];
      if (url && key) resolve({ url, key });
    });
    child.on('close', (code) => reject(new Error(`The gateway ended with ${code}:\n${output.stdout}${output.stderr}`)));
  });
}
