/** Replacement of a whole file, on disk before it counts: a crash leaves the old one or the new one. */

import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { PRIVATE_FOLDER } from '../security/file-modes.ts';

/** Replaces the file as one step; a link to it stays a link. */
export function replaceFile(path: string, text: string, mode: number): void {
  mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_FOLDER });
  const target = statSync(path, { throwIfNoEntry: false }) ? realpathSync(path) : path;
  const part = `${target}.polygate-part`;
  writeFileSync(part, text, { mode });
  chmodSync(part, mode);
  const opened = openSync(part, 'r+');
  fsyncSync(opened);
  closeSync(opened);
  renameSync(part, target);
}
