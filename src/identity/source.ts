/** Source of the credentials of an identity: a file, a metadata server or a token endpoint. */

import { homedir } from 'node:os';
import type { Clock } from '../core/clock.ts';
import type { CredentialValue, SentCredential } from '../core/credential.ts';
import type { HttpProxy } from '../core/http-proxy.ts';
import { readSecretFile } from '../security/secret-file.ts';
import type { Issued } from '../transport/token-source.ts';
import { notSetUp } from './ask.ts';

export interface IdentityContext {
  /** Name in the configuration, e.g. `auto`; absent where it has members. */
  choice: string | undefined;
  settings: Readonly<Record<string, string>>;
  /** Value of an environment variable without space around it; undefined if it is empty. */
  variable(name: string): string | undefined;
  baseUrl: string;
  readKey: ((text: string) => CredentialValue) | undefined;
  clock: Clock;
  /** On the way to servers outside of the platform. */
  proxy: HttpProxy | undefined;
}

export type IssuedCredential = Issued<SentCredential>;

export interface IdentitySource {
  /** Name for operators; contains no secret. */
  name: string;
  issue(signal: AbortSignal): Promise<IssuedCredential>;
}

/** Finds the source that is there now, without a request. Throws an `IdentityProblem` if there is none. */
export type FindSource = () => IdentitySource;

/** Files of many profiles are longer than one secret. */
const MAX_FILE_BYTES = 1024 * 1024;

/** Text of a file that has to be there. */
export function readIdentityFile(path: string): string {
  try {
    return readSecretFile(path, MAX_FILE_BYTES);
  } catch (error) {
    throw notSetUp(`${path} ${(error as Error).message}`);
  }
}

/** Text of a file; undefined if it does not exist, or if it is at its usual place and cannot be read, as in a home folder of another user. */
export function readOptionalFile(path: string, isUsual: boolean): string | undefined {
  try {
    return readSecretFile(path, MAX_FILE_BYTES);
  } catch (error) {
    const { message } = error as Error;
    if (message === 'is empty') return '';
    if (message === 'does not exist' || (isUsual && message.startsWith('cannot be read'))) return undefined;
    throw notSetUp(`${path} ${message}`);
  }
}

/** Home folder; a user without one has the root folder. */
export function homeFolder({ variable }: IdentityContext): string {
  const named = variable('HOME') ?? variable('USERPROFILE');
  if (named !== undefined) return named;
  try {
    return homedir();
  } catch {
    return '/';
  }
}
