/** How many connections the limit of open files of this process leaves room for. */

import { readFileSync } from 'node:fs';

/** Files, threads, pipes and connections to a database that the gateway itself needs. */
const RESERVED_FILES = 96;
/** A request holds one connection to its client and one to its upstream. */
const FILES_PER_CONNECTION = 2;

/** Undefined where the limit is not known. */
export function maxConnections(limit = openFileLimit()): number | undefined {
  if (limit === undefined) return undefined;
  const free = limit - Math.min(RESERVED_FILES, limit / 2);
  return Math.max(1, Math.floor(free / FILES_PER_CONNECTION));
}

function openFileLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return reportedLimit();
  }
}

/** On systems without /proc. */
function reportedLimit(): number | undefined {
  // Without it names of addresses are looked up; the types do not know it.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  const soft = Number(userLimits?.open_files?.soft);
  return Number.isSafeInteger(soft) ? soft : undefined;
}
