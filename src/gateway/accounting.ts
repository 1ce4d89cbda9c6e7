/** Everything behind accounts: this gateway among those on its store, the records, the limits, and what is kept. */

import type { Logger } from 'pino';
import { type AdmissionControl, createAdmissionControl } from '../accounting/admission.ts';
import type { Config, UsageConfig } from '../config/resolved.ts';
import { createLimitKeeper } from '../limits/limits.ts';
import { createQuota } from '../limits/quota.ts';
import type { Limits } from '../records/key-settings.ts';
import { joinStore } from '../store/instance.ts';
import type { Store } from '../store/store.ts';
import { createRecorder, type Recorder } from '../usage/recorder.ts';
import { recoverInterrupted } from '../usage/recovery.ts';
import { createTrimmer, pruneRecords } from '../usage/retention.ts';

export interface AccountingOptions {
  store: Store;
  log: Logger;
  /** The configuration of the moment. */
  config(): Pick<Config, 'usage' | 'limits'>;
  /** Unix milliseconds. */
  now(): number;
}

export interface Accounting {
  accounts: AdmissionControl;
  recorder: Pick<Recorder, 'ready' | 'waiting' | 'lost' | 'refused'>;
  /** Writes what is still to be written. */
  close(): Promise<void>;
}

/** Milliseconds between two looks for what dead gateways left behind, between two returns of what is held in vain, and between two clearings. */
const RECOVERY_INTERVAL_MS = 10_000;
const IDLE_RELEASE_INTERVAL_MS = 2_000;
const CLEANUP_INTERVAL_MS = 3_600_000;
/** Milliseconds between two looks for budgets whose period is over. */
const BUDGET_CLEANUP_INTERVAL_MS = 60_000;
/** Milliseconds between two looks at the size of the records. */
const TRIM_INTERVAL_MS = 60_000;
/** Milliseconds that allowances of past minutes are remembered, and that a store which is away gets at the end. */
const ALLOWANCE_RETENTION_MS = 10 * 60_000;
const FLUSH_TIMEOUT_MS = 5_000;

/** Takes the place of gateways that are dead, and records what they had begun. */
export async function openAccounting({ store, log, config, now }: AccountingOptions): Promise<Accounting> {
  const instance = await joinStore(store, log);
  await recoverInterrupted({ store, log });
  const { durability } = config().usage;
  const recorder = createRecorder({ store, instance: instance.id, durability, log });
  const defaults = (): Limits => config().limits;
  const quota = createQuota({ store: flushBeforeHold(store, recorder), instance: instance.id });
  const limits = createLimitKeeper({ quota, defaults, now });

  const every = (milliseconds: number, work: () => Promise<void>): NodeJS.Timeout =>
    setInterval(() => {
      work().catch((error) => log.warn({ problem: error.message }, 'accounts could not be kept tidy'));
    }, milliseconds).unref();
  const trimmer = createTrimmer({ store, now });
  const timers = [
    every(CLEANUP_INTERVAL_MS, () => cleanUp({ store, log, now }, config().usage)),
    every(BUDGET_CLEANUP_INTERVAL_MS, async () => limits.forgetEnded()),
    every(TRIM_INTERVAL_MS, async () => void (await trimmer.trim(config().usage.maxSize))),
  ];
  if (store.engine !== 'sqlite') {
    timers.push(
      every(RECOVERY_INTERVAL_MS, () => recoverInterrupted({ store, log })),
      every(IDLE_RELEASE_INTERVAL_MS, () => limits.releaseIdle()),
    );
  }
  const firstCleanup = cleanUp({ store, log, now }, config().usage).catch((error) =>
    log.warn({ problem: error.message }, 'old records of use could not be removed'),
  );

  return {
    accounts: createAdmissionControl({ recorder, limits, store, now }),
    recorder,
    async close() {
      for (const timer of timers) clearInterval(timer);
      await Promise.all([recorder.close(FLUSH_TIMEOUT_MS), firstCleanup]);
      await instance.close();
    },
  };
}

/** What is left of a budget is asked for when everything that is spent is written down. */
function flushBeforeHold(store: Store, recorder: Pick<Recorder, 'written'>): Pick<Store, 'call' | 'engine'> {
  const call: Store['call'] = async (name, parameters) => {
    if (name === 'setHold') await recorder.written();
    return store.call(name, parameters);
  };
  return { engine: store.engine, call };
}

async function cleanUp({ store, log, now }: Omit<AccountingOptions, 'config'>, usage: UsageConfig): Promise<void> {
  const pruned = await pruneRecords({ store, now }, usage);
  if (pruned > 0) log.info({ records: pruned }, 'old records of use are removed');
  await store.call('forgetAllowances', { before: now() - ALLOWANCE_RETENTION_MS });
  await store.call('forgetRefused', { before: now() - usage.keep });
}
