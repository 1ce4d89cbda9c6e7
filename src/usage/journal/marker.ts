/** Marker of a journal: its id and the number of its last segment, so that the loss of that segment is noticed. */

import { constants, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JournalDisk } from './disk.ts';
import { HEADER_BYTES, readHeader, writeHeader } from './format.ts';

const MARKER_NAME = 'last';

export interface JournalMarker {
  /** Id of the journal. */
  journal: string;
  sequence: number;
}

/** Undefined for a journal that is new, or of an earlier version. */
export function readMarker(folder: string): JournalMarker | undefined {
  const path = join(folder, MARKER_NAME);
  return existsSync(path) ? readHeader(readFileSync(path)) : undefined;
}

/** Nothing waits for it: without it, only the loss of the last segment stays unnoticed. */
export function writeMarker(disk: JournalDisk, folder: string, { journal, sequence }: JournalMarker): void {
  const bytes = Buffer.alloc(HEADER_BYTES);
  writeHeader(bytes, { journal, sequence, seed: 0, previousEnd: 0 });
  disk.open(join(folder, MARKER_NAME), constants.O_WRONLY | constants.O_CREAT, (failure, fd) => {
    if (failure) return;
    disk.write(fd, bytes, { from: 0, length: bytes.length, at: 0 }, () => {
      disk.sync(fd, () => disk.close(fd, () => undefined));
    });
  });
}
