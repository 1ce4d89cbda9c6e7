/** Location of the configuration: a file, or a variable that is the YAML itself. */

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { GatewayError } from '../core/errors.ts';
import { CONFIG_VARIABLE } from './environment.ts';

export interface ConfigLocation {
  /** Absolute path; absent if the configuration comes from the environment alone. */
  file?: string;
  /** The YAML itself in place of a file. */
  text?: string;
}

/** Read when no file is named, if it exists. */
export const DEFAULT_FILE = 'polygate.yaml';

/** Reasons for which a file cannot be used, by the code of the error. */
const REASONS: Record<string, string> = {
  ENOENT: 'no such file',
  EISDIR: 'is a folder, not a file',
  ENOTDIR: 'is below a file, not a folder',
  EACCES: 'permission denied',
};

/** Message of an error for the terminal: file and reason where the file system refused one. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { path, code = '', syscall } = error as NodeJS.ErrnoException;
  const reason = code === 'ENOENT' && syscall === 'open' ? 'no such file or folder' : REASONS[code];
  return path === undefined || reason === undefined ? error.message : `${path}: ${reason}`;
}

/** Absolute path of the named file, or of the default file if it exists; or YAML that stands in place of a name. */
export function findConfig(named: string | undefined): ConfigLocation {
  if (named && isYamlText(named)) return { text: named };
  if (named) return { file: resolve(named) };
  return existsSync(DEFAULT_FILE) ? { file: resolve(DEFAULT_FILE) } : {};
}

/** A path has one line and does not begin with a brace; one that does can be written as `./{...`. */
function isYamlText(named: string): boolean {
  return named.includes('\n') || named.startsWith('{');
}

/** The file, or the variable that is the configuration; undefined without either. */
export function originOf({ file, text }: ConfigLocation): string | undefined {
  return file ?? (text === undefined ? undefined : CONFIG_VARIABLE);
}

/** Empty without a file and a text. Throws `invalid_request` if the file cannot be read. */
export function readConfigText({ file, text = '' }: ConfigLocation): string {
  return file === undefined ? text : readNamedFile(file).toString('utf8');
}

/** Throws `invalid_request` with the reason if the file cannot be read. */
export function readNamedFile(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw new GatewayError('invalid_request', `${file}: ${REASONS[code] ?? message}`, { cause: error });
  }
}
