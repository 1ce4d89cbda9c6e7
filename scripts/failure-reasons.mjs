/** Why tests failed, in short: many failures of one run often have one reason, such as a disk that is full. */

import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Begins the part of the runner's report that has each failed test once. */
const FAILED_PART = '✖ failing tests:';
/** The first line of an error, with its class and code. */
const ERROR = /^\s+((?:[A-Za-z]*Error|error)(?: \[\w+\])?: .+)$/;
const MAX_CHARACTERS = 160;
const MAX_REASONS = 5;
/** Less free disk than this is worth a line. */
const LITTLE_BYTES = 2e9;

/** Reads a report line by line; `lines()` has the most frequent reasons. */
export function createFailureReasons() {
  const counts = new Map();
  let isFailedPart = false;
  return {
    read(line) {
      if (line.startsWith(FAILED_PART)) isFailedPart = true;
      else if (line.startsWith('▶') || line.startsWith('✔')) isFailedPart = false;
      const [, reason] = (isFailedPart && ERROR.exec(line)) || [];
      if (reason === undefined) return;
      const short = reason.slice(0, MAX_CHARACTERS).replace(/[0-9a-f]{8,}|\d+/g, 'N');
      counts.set(short, (counts.get(short) ?? 0) + 1);
    },
    lines() {
      const frequent = [...counts].sort(([, one], [, other]) => other - one).slice(0, MAX_REASONS);
      return frequent.map(([reason, count]) => `${String(count).padStart(5)} x ${reason}`);
    },
  };
}

/** Undefined where there is enough. */
export function diskWarning(folder = tmpdir(), little = LITTLE_BYTES) {
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  return free < little ? `Only ${(free / 1e9).toFixed(1)} GB of disk are free at ${folder}.` : undefined;
}
