/** Source of the credentials of an identity: a file, a metadata server or a token endpoint. */

import type { Clock } from '../core/clock.ts';
import type { CredentialValue, SentCredential } from '../core/credential.ts';
import { readSecretFile } from '../security/secret-file.ts';
import type { Issued } from '../transport/token-source.ts';
import { notSetUp } from './ask.ts';

export interface IdentityContext {
  /** Name in the configuration, e.g. `auto`; absent where it has members. */
  choice: string | undefined;
  settings: Readonly<Record<string, string>>;
  /** Value of an environment variable; undefined if it is empty. */
  variable(name: string): string | undefined;
  baseUrl: string;
  readKey: ((text: string) => CredentialValue) | undefined;
  clock: Clock;
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

/** Text of a file; undefined if it does not exist. */
export function readOptionalFile(path: string): string | undefined {
  try {
    return readSecretFile(path, MAX_FILE_BYTES);
  } catch (error) {
    const { message } = error as Error;
    if (message === 'does not exist') return undefined;
    if (message === 'is empty') return '';
    throw notSetUp(`${path} ${message}`);
  }
}
