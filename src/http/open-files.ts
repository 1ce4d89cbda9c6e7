/** Maximum number of connections under the open file limit of this process. */

import { readFileSync } from 'node:fs';

/** File descriptors of the gateway itself: files, threads, pipes and database connections. */
const RESERVED_FILES = 96;
/** One connection to the client and one to the upstream. */
const FILES_PER_CONNECTION = 2;

/** Undefined if the limit is unknown. */
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

/** For systems without /proc. */
function reportedLimit(): number | undefined {
  // Prevents reverse DNS lookups for the report; missing in the types.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  const soft = Number(userLimits?.open_files?.soft);
  return Number.isSafeInteger(soft) ? soft : undefined;
}
