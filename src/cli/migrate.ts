/** `polygate migrate`: brings the store to the schema of this version, or lists the pending migrations. */

import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/resolved.ts';
import { sleep, systemClock } from '../core/clock.ts';
import { openStore, readStoreStatus } from '../store/open.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { type ConfigOptions, configSource } from './source.ts';

export interface MigrateOptions extends ConfigOptions {
  /** Changes nothing. */
  check?: boolean;
  /** Milliseconds to wait for a database that cannot be reached. */
  wait?: number;
}

const RETRY_INTERVAL_MS = 500;

/** Sets exit code 1 where a check finds something pending. Throws `unavailable` if the store is not one for this version. */
export async function migrate({ check = false, wait = 0, ...options }: MigrateOptions): Promise<void> {
  const config = loadConfig(configSource(options));
  const { pending, newer } = await whenReachable(wait, () => readStoreStatus(config));
  for (const { name } of newer) print(`newer ${name}`);
  for (const { name } of pending) print(`${check ? 'pending' : 'applying'} ${name}`);
  if (pending.length === 0) print('The store is up to date.');
  else if (check) process.exitCode = 1;
  else await apply(config);
}

async function apply(config: Config): Promise<void> {
  const store = await openStore({ ...config, role: 'guest', createIfMissing: true });
  await store.close();
  print('The store is migrated.');
}

async function whenReachable<Result>(wait: number, work: () => Promise<Result>): Promise<Result> {
  const deadline = systemClock.monotonic() + wait;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      if (systemClock.monotonic() >= deadline) throw new Error(`The store cannot be used: ${error.problem}.`);
    }
    await sleep(systemClock, RETRY_INTERVAL_MS);
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
