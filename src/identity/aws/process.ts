/** Keys that a program prints, as `credential_process` of a profile names it. No shell runs it. */

import { execFile } from 'node:child_process';
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

/** Its standard error is not read: it may have secrets. */
function outputOf(command: string, signal: AbortSignal): Promise<string> {
  const [program = '', ...args] = (command.match(WORD) ?? []).map(unquoted);
  return new Promise((resolve, reject) => {
    const options = { signal, maxBuffer: MAX_OUTPUT_BYTES, windowsHide: true };
    const child = execFile(program, args, options, (error, stdout) => {
      process.off('exit', end);
      if (error) reject(unavailable(`${SERVER} failed`));
      else resolve(stdout);
    });
    const end = () => void child.kill();
    process.on('exit', end);
    // Nobody is there to answer its questions.
    child.stdin?.on('error', () => {}).end();
  });
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
  const { value } = lastingKeys(id, textMember(body, 'SecretAccessKey', SERVER), text('SessionToken'));
  const end = text('Expiration');
  return { value, expiresAt: end === undefined ? Number.POSITIVE_INFINITY : Date.parse(end) };
}
