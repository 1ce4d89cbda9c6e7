/** Peer: another gateway, installed into a folder of the user's cache, and started for one workload with the upstream of that workload. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { delay, freePort, startChild, temporaryFolder } from '../host/children.ts';
import { requestBytes, type Target } from '../load/connection.ts';
import { CHAT_ANSWER, CHAT_FRAMES } from '../programs/answers.ts';
import { frames, type Workload } from '../workload.ts';
import type { Subject, Upstreams } from './subject.ts';

export const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'polygate-bench');
/** A build in Rust takes long. */
const INSTALL_TIMEOUT_MS = 60 * 60_000;
/** What an installer prints, at most. */
const MOST_OUTPUT = 2 ** 28;
const START_TIMEOUT_MS = 120_000;
/** The model that a peer is asked for. */
export const PEER_MODEL = 'm';
/** The key that a peer with keys of its own is given. */
export const PEER_KEY = 'sk-peer-0123456789';

export interface Peer {
  name: string;
  version: string;
  /** The file that is there once it is installed. */
  program: string;
  install(): Promise<void>;
  /** `baseUrl` is that of the upstream, with its `/v1`; `folder` is the working folder of the process. */
  command(place: { port: number; baseUrl: string; folder: string }): PeerCommand;
}

interface PeerCommand {
  program: string;
  args: readonly string[];
  env?: Record<string, string>;
  headers?: Record<string, string>;
}

/** Another version has another folder, so that a new pin is installed beside the old one. */
export function folderOf({ name, version }: { name: string; version: string }): string {
  return join(CACHE, `${name}-${version}`);
}

export function isInstalled({ program }: Peer): boolean {
  return existsSync(program);
}

/** Throws the last line that the installer printed as an error, or says that there is no such installer. */
export async function runInstaller(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<void> {
  const options = { timeout: INSTALL_TIMEOUT_MS, maxBuffer: MOST_OUTPUT, env: { ...process.env, ...env } };
  try {
    await promisify(execFile)(program, args, options);
  } catch (error) {
    const { code, stderr = '', message } = error as Error & { code?: string | number; stderr?: string };
    if (code === 'ENOENT') throw new Error(`${program} is not installed`);
    const errors = stderr.split('\n').filter((line) => /^ *(?:npm )?error\b/i.test(line));
    throw new Error(errors.at(-1)?.trim() ?? message.split('\n')[0]);
  }
}

/** Ready when it has answered a request of the workload; throws where the answer is not that of the upstream. */
export async function startPeer(peer: Peer, { instant, other }: Upstreams, workload: Workload): Promise<Subject> {
  const { path, upstreamPath, body } = workload;
  const port = await freePort();
  const folder = temporaryFolder();
  const baseUrl = `${upstreamPath.startsWith('/instant/') ? instant : other}${upstreamPath.replace('/chat/completions', '')}`;
  const { program, args, env = {}, headers = {} } = peer.command({ port, baseUrl, folder });
  const began = performance.now();
  const child = startChild(program, args, { folder, env });
  const target: Target = {
    port,
    bytes: requestBytes(path, { headers: { authorization: `Bearer ${PEER_KEY}`, ...headers }, body: body(PEER_MODEL) }),
    leastBytes: leastAnswerBytes(workload),
  };
  const ask = () =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${PEER_KEY}`, ...headers },
      body: body(PEER_MODEL),
      signal: AbortSignal.timeout(START_TIMEOUT_MS),
    });
  try {
    await untilAnswered(peer.name, ask, workload);
  } catch (error) {
    await child.stop();
    throw error;
  }
  return {
    ...{ name: peer.name, pid: child.pid, readyAfter: performance.now() - began, answered: 0 },
    target: (wanted: Workload) => (wanted === workload ? target : undefined),
    stop: () => child.stop(),
  };
}

async function untilAnswered(name: string, ask: () => Promise<Response>, workload: Workload): Promise<void> {
  const began = performance.now();
  let last = 'no connection';
  while (performance.now() - began < START_TIMEOUT_MS) {
    const response = await ask().catch(() => undefined);
    const answer = (await response?.text()) ?? '';
    if (response?.status === 200) {
      if (textOfAnswer(workload, answer) === textOfAnswer(workload, upstreamAnswer(workload))) return;
      throw new Error(`${name} answers with something else: ${answer.slice(0, 300)}`);
    }
    if (response) last = `status ${response.status}: ${answer.slice(0, 300)}`;
    await delay(100);
  }
  throw new Error(`${name} does not answer: ${last}`);
}

function upstreamAnswer(workload: Workload): string {
  return workload === frames ? CHAT_FRAMES.join('') : CHAT_ANSWER;
}

/** Half of what the upstream sends: a gateway may leave out fields and blanks, but an error is shorter. */
export function leastAnswerBytes(workload: Workload): number {
  return Buffer.byteLength(upstreamAnswer(workload)) >> 1;
}

/** The generated text in a whole answer of chat completions, or in the frames of a stream with its end; undefined where there is none. */
export function textOfAnswer(workload: Workload, answer: string): string | undefined {
  try {
    if (workload !== frames) return JSON.parse(answer).choices[0].message.content;
    const events = answer.split(/\r?\n/).flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trim()] : []));
    if (events.pop() !== '[DONE]') return undefined;
    return events.map((event) => JSON.parse(event).choices[0]?.delta.content ?? '').join('');
  } catch {
    return undefined;
  }
}
