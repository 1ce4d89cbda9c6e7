/** Keys that a program prints, as `credential_process` of a profile names it. No shell runs it. */

import { type ChildProcess, spawn } from 'node:child_process';
import { parseObject } from '../../core/json/json.ts';
import { textMember, unavailable } from '../ask.ts';
import type { IdentitySource, IssuedCredential } from '../source.ts';
import { lastingKeys } from './keys.ts';

const SERVER = 'the program of credential_process';
const VERSION = 1;
const MAX_OUTPUT_BYTES = 64 * 1024;
/** A word of a command: quoted parts, escaped characters and others, without space between them. */
const WORD = /(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\])+/g;
const PART = /"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/g;

export function processSource(profile: string, command: string): IdentitySource {
  return {
    name: `profile "${profile}" (credential_process)`,
    issue: async (signal) => keysOf(await outputOf(command, signal)),
  };
}

/** Whether a program can have a process group of its own, which a signal reaches as a whole. */
const HAS_GROUPS = process.platform !== 'win32';

/** Its standard error is not read: it may have secrets. Nobody is there to answer its questions. */
function outputOf(command: string, signal: AbortSignal): Promise<string> {
  const [program = '', ...args] = (command.match(WORD) ?? []).map(unquoted);
  return new Promise((resolve, reject) => {
    if (signal.aborted) throw unavailable(`${SERVER} failed`);
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'ignore'],
      windowsHide: true,
      detached: HAS_GROUPS,
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = () => endGroup(child);
    const settle = (problem?: Error) => {
      process.off('exit', end);
      signal.removeEventListener('abort', giveUp);
      if (problem) reject(problem);
      else resolve(Buffer.concat(chunks).toString('utf8'));
    };
    const fail = () => settle(unavailable(`${SERVER} failed`));
    const giveUp = () => {
      end();
      child.stdout.destroy();
      fail();
    };
    process.on('exit', end);
    signal.addEventListener('abort', giveUp);
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_OUTPUT_BYTES) giveUp();
      else chunks.push(chunk);
    });
    child.on('error', fail);
    child.on('close', (code) => (code === 0 ? settle() : fail()));
  });
}

/** Ends a program and its child processes, such as the program that a script wraps. */
function endGroup(child: ChildProcess): void {
  if (!HAS_GROUPS || child.pid === undefined) return void child.kill();
  try {
    process.kill(-child.pid);
  } catch {
    // All of them have ended.
  }
}

function unquoted(word: string): string {
  return word.replace(PART, (_, double?: string, single?: string, escaped?: string) =>
    double === undefined ? (single ?? escaped ?? '') : double.replace(/\\(["\\])/g, '$1'),
  );
}

function keysOf(output: string): IssuedCredential {
  const body = parseObject(output);
  if (body?.Version !== VERSION) throw unavailable(`${SERVER} printed no keys of version ${VERSION}`);
  const text = (member: string) => (body[member] === undefined ? undefined : textMember(body, member, SERVER));
  const id = textMember(body, 'AccessKeyId', SERVER);
  const secret = textMember(body, 'SecretAccessKey', SERVER);
  const names = { id: `AccessKeyId of ${SERVER}`, sessionToken: `SessionToken of ${SERVER}` };
  const { value } = lastingKeys({ id, secret, sessionToken: text('SessionToken') }, names);
  const end = text('Expiration');
  return { value, expiresAt: end === undefined ? Number.POSITIVE_INFINITY : Date.parse(end) };
}
