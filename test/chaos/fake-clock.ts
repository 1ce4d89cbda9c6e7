/** A clock that a scenario sets for one process: libfaketime, which stands between the process and the system's clock. */

import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pause } from './stage.ts';

export interface FakeClock {
  /** What the process is started with. */
  under: string[];
  /** Unix milliseconds, as the process sees them. */
  now(): number;
  /** Moves the clock by milliseconds; resolves when the process sees it. Timers and durations go on undisturbed. */
  jump(milliseconds: number): Promise<void>;
}

/** libfaketime looks into its file so often, counted in whole seconds. */
const CACHE_S = 1;
const SEEN_AFTER_MS = 2_300;

/** Undefined where libfaketime (Debian: package faketime) is not installed. `from` is the first moment. */
export function createFakeClock(folder: string, { from = Date.now(), zone = 'UTC' } = {}): FakeClock | undefined {
  const library = findLibrary();
  if (library === undefined) return undefined;
  const file = join(folder, 'clock');
  let offset = from - Date.now();
  const write = () => writeFileSync(file, `${offset < 0 ? '-' : '+'}${Math.abs(offset / 1000).toFixed(3)}\n`);
  write();
  const environment = {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_CACHE_DURATION: CACHE_S,
    FAKETIME_DONT_FAKE_MONOTONIC: 1,
    TZ: zone,
  };
  return {
    under: ['env', ...Object.entries(environment).map(([name, value]) => `${name}=${value}`)],
    now: () => Date.now() + offset,
    async jump(milliseconds) {
      offset += milliseconds;
      write();
      await pause(SEEN_AFTER_MS);
    },
  };
}

function findLibrary(): string | undefined {
  const folders = ['/usr/lib', '/usr/lib64', '/usr/local/lib', '/opt/homebrew/lib'];
  const multiarch = folders.flatMap((folder) =>
    existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [],
  );
  return [...folders, ...multiarch]
    .map((folder) => join(folder, 'faketime', 'libfaketimeMT.so.1'))
    .find((path) => existsSync(path));
}
