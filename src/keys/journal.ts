/**
 * The stored keys: a file to which events are only ever appended, one JSON line each. Appending is atomic, so processes
 * may do it at once; an event counts when its line is complete, so a crash leaves the file as it was before.
 */

import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

export const JOURNAL_FILE = 'keys.jsonl';

const LINE_FEED = 10;

export interface CreateEvent {
  event: 'create';
  id: string;
  name: string;
  digest: string;
  prefix: string;
  /** Unix milliseconds, as all moments here. */
  created: number;
  expires?: number;
  models?: string[];
}

export interface RevokeEvent {
  event: 'revoke';
  id: string;
  revoked: number;
}

export type KeyEvent = CreateEvent | RevokeEvent;

export interface Journal {
  /** Every complete event in order. Lines that are none are left out. */
  read(): KeyEvent[];
  /** Returns when the event is on disk. */
  append(event: KeyEvent): void;
  /** Changes whenever the file does. */
  version(): string;
}

/** The folder and the file come into being with the first event. */
export function openJournal(folder: string): Journal {
  const path = join(folder, JOURNAL_FILE);
  return {
    read: () => eventsOf(path),
    append(event) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const file = openSync(path, 'a+', 0o600);
      try {
        writeSync(file, `${endsInLine(file) ? '' : '\n'}${JSON.stringify(event)}\n`);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      syncFolder(folder);
    },
    version() {
      const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
      return stats ? `${stats.ino}:${stats.size}:${stats.mtimeNs}` : 'none';
    },
  };
}

function eventsOf(path: string): KeyEvent[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return text.split('\n').slice(0, -1).flatMap(parseEvent);
}

function parseEvent(line: string): KeyEvent[] {
  try {
    const event = JSON.parse(line);
    return event?.event === 'create' || event?.event === 'revoke' ? [event] : [];
  } catch {
    return [];
  }
}

/** False when a crash cut the last line short, which then must not swallow the next one. */
function endsInLine(file: number): boolean {
  const { size } = fstatSync(file);
  if (size === 0) return true;
  const last = Buffer.alloc(1);
  readSync(file, last, 0, 1, size - 1);
  return last[0] === LINE_FEED;
}

/** Makes a new file's name survive a power cut; Windows has no such call for folders. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
