/**
 * Record of the changes to a program's settings, beside them. It is on disk before they change, and it holds their
 * text from before, so that undoing gives back every byte, also after a crash.
 */

import { createHash } from 'node:crypto';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GatewayError } from '../../core/errors.ts';
import { PRIVATE_FILE } from '../../security/file-modes.ts';
import { replaceFile } from '../replace-file.ts';
import { type SettingsFile, settingName, withSettings } from './settings-file.ts';

interface RecordedFile {
  path: string;
  /** Null where there was no file. */
  before: string | null;
  mode: number;
  /** Hashes of the texts that were written, none of which has changes of anyone else. */
  written: string[];
  /** Settings that were written. */
  settings: string[];
}

interface ConnectRecord {
  files: RecordedFile[];
}

/** Writes the settings. What a former connection wrote is replaced. Throws `invalid_request` before it has changed anything. */
export function applySettings(program: string, files: readonly SettingsFile[]): void {
  const place = recordPath(program, files);
  const former = readRecord(place);
  const changes = files.map((file) => {
    const current = readText(file.path);
    const known = former?.files.find(({ path }) => path === file.path);
    const isOurs = known !== undefined && (current === known.before || isWritten(known, current));
    const base = isOurs ? known.before : current;
    const text = withSettings(base ?? '', file);
    const before = known ? known.before : current;
    const hashes = known?.written ?? [];
    return {
      text,
      recorded: {
        path: file.path,
        before,
        mode: known?.mode ?? modeOf(file.path),
        // A file with changes of someone else keeps them for ever: its hash is never noted.
        written: known && !isOurs ? [] : [...new Set([...hashes, hashOf(text)])],
        settings: file.settings.map(settingName),
      },
    };
  });
  const record: ConnectRecord = { files: changes.map(({ recorded }) => recorded) };
  replaceFile(place, `${JSON.stringify(record, null, 2)}\n`, PRIVATE_FILE);
  for (const { text, recorded } of changes) replaceFile(recorded.path, text, PRIVATE_FILE);
}

/** Gives the files back; false where nothing was written. Throws `invalid_request` naming a file that was changed since. */
export function undoSettings(program: string, files: readonly SettingsFile[]): boolean {
  const place = recordPath(program, files);
  const record = readRecord(place);
  if (!record) return false;
  for (const recorded of record.files) {
    const current = readText(recorded.path);
    if (current === recorded.before || isWritten(recorded, current)) continue;
    throw new GatewayError(
      'invalid_request',
      `${recorded.path} was changed since "polygate connect ${program}", so it is left as it is. ` +
        `Take out ${recorded.settings.join(', ')} by hand, and remove ${place}, which holds the text from before.`,
    );
  }
  for (const { path, before, mode } of record.files) {
    if (readText(path) === before) continue;
    if (before === null) rmSync(path);
    else replaceFile(path, before, mode);
  }
  rmSync(place);
  return true;
}

function recordPath(program: string, [first]: readonly SettingsFile[]): string {
  return join(dirname(first?.path ?? ''), `.polygate-connect-${program}.json`);
}

function readRecord(path: string): ConnectRecord | undefined {
  const text = readText(path);
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new GatewayError('invalid_request', `${path} is damaged, so nothing can be undone or written over.`);
  }
}

function isWritten({ written }: RecordedFile, text: string | null): boolean {
  return text !== null && written.includes(hashOf(text));
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Null where there is none. The text has the same bytes as the file, or it is refused. */
function readText(path: string): string | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new GatewayError('invalid_request', `${path} is left as it is: it is no text in UTF-8.`);
  }
}

function modeOf(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.mode ?? PRIVATE_FILE) & 0o777;
}
