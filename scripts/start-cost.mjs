/** Cost of a start of the program: processor time and time until it listens, and memory when it idles. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

/**
 * An idle gateway has no thread that reads: a slow disk starts one, which ends after ten seconds; V8 keeps its memory for
 * eight more.
 */
const SETTLE_MS = 25_000;
const LOOK_MS = 1000;
/** Milliseconds in a tick of the processor times in /proc. */
const TICK_MS = 10;

/** Runs `program ARGS serve` in `folder`; Linux only. The memory is that of the first look with at most `idleMb`, or of the last. */
export async function measureStart(program, { args, folder, env = process.env, idleMb = Number.POSITIVE_INFINITY }) {
  const startedAt = performance.now();
  const child = spawn(program, [...args, 'serve', '--port', '0'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  try {
    await greeting(child);
    const readyMs = performance.now() - startedAt;
    const cpuMs = processorTime(child.pid);
    return { cpuMs, readyMs, rssMb: await idleMemory(child.pid, idleMb) };
  } finally {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
}

/** What the gateway prints when it starts; its log is read on and dropped. */
export function greeting(child) {
  let text = '';
  return new Promise((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      if (text.includes('Ctrl-C')) resolve(text);
    });
    child.on('error', reject);
    child.on('close', () => reject(new Error(`The gateway ended: ${text}`)));
  });
}

/** What any start with the gateway's threads and modules of Node costs: the measure of a machine. */
const BARE_START = `
  for (const name of ['node:http', 'node:https', 'node:crypto', 'node:sqlite']) require(name);
  const { Worker } = require('node:worker_threads');
  for (let index = 0; index < 2; index++) new Worker('require("node:sqlite")', { eval: true });
  process.on('exit', () => {
    const { user, system } = process.cpuUsage();
    process.stdout.write(String((user + system) / 1000));
  });
`;

/** Least processor time of several bare starts of Node, in milliseconds. */
export async function measureBareStart(program, tries) {
  const costs = [];
  for (let index = 0; index < tries; index++) {
    const { stdout } = await promisify(execFile)(program, ['--eval', BARE_START]);
    costs.push(Number(stdout));
  }
  return Math.min(...costs);
}

/** The start that cost least processor time: others may have shared caches and cores with other programs. */
export async function measureBestStart(program, { tries, ...options }) {
  const starts = [];
  for (let index = 0; index < tries; index++) starts.push(await measureStart(program, options));
  return {
    cpuMs: Math.min(...starts.map(({ cpuMs }) => cpuMs)),
    readyMs: Math.min(...starts.map(({ readyMs }) => readyMs)),
    rssMb: Math.min(...starts.map(({ rssMb }) => rssMb)),
  };
}

/** User and system time of a process, in milliseconds. */
function processorTime(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

async function idleMemory(pid, idleMb) {
  for (const end = performance.now() + SETTLE_MS; ; ) {
    await pause(LOOK_MS);
    const rssMb = residentMemory(pid);
    if (rssMb <= idleMb || performance.now() > end) return rssMb;
  }
}

function residentMemory(pid) {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(kilobytes) / 1024;
}

/** Size of the files in a folder, in megabytes. */
export function sizeOf(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0) / 1e6;
}
