/** Accounting: wires usage records, limits, recovery and retention for this gateway. */

import { join } from 'node:path';
import type { Logger } from 'pino';
import { type AdmissionControl, createAdmissionControl } from '../accounting/admission.ts';
import type { Config, UsageConfig } from '../config/resolved.ts';
import { type Clock, every } from '../core/clock.ts';
import { createLimitKeeper } from '../limits/limits.ts';
import { createQuota, createReservationReader } from '../limits/quota.ts';
import { createTagAllotments, type TagAllotments } from '../limits/tag-allotments.ts';
import { encodeReservations } from '../records/reservations.ts';
import { openExpiryClock } from '../store/expiry-clock.ts';
import { type Instance, joinStore, type ProcessRole } from '../store/instance.ts';
import type { IntentFilter } from '../store/operations/requests.ts';
import type { ParametersOf, Store, StoreOperationName } from '../store/store.ts';
import { answerInTime, problemOf, retryWhileUnavailable, StoreUnavailable } from '../store/unavailable.ts';
import type { JournalDisk } from '../usage/journal/disk.ts';
import { openJournalRecorder, recoverAbandonedJournals } from '../usage/journal-recorder.ts';
import { type OpenSources, ownRequests } from '../usage/open-requests.ts';
import type { Recorder } from '../usage/recorder.ts';
import { recoverInterrupted } from '../usage/recovery.ts';
import { createRecordTrimmer, pruneRecords } from '../usage/retention.ts';
import { startDailySums } from './daily-sums.ts';

export interface AccountingOptions {
  store: Store;
  log: Logger;
  /** The current configuration. */
  config(): Pick<Config, 'data' | 'network' | 'usage' | 'allotments' | 'origin'>;
  clock: Clock;
  journalDisk?: JournalDisk | undefined;
  /** Place of this process in its gateway, and its instance id; a sole process chooses one. */
  role?: ProcessRole | undefined;
  instance?: string | undefined;
  /** Stores the pending records of the other processes of this gateway. */
  flushOthers?: (() => Promise<void>) | undefined;
  countRunning?: OpenSources['countRunning'];
}

export interface Accounting {
  /** Id of this process among those that share the store. */
  instance: string;
  /** The store with all records that were acknowledged. */
  records: Store;
  /** Clock by which stored data expire. */
  expiry: Pick<Clock, 'now'>;
  admission: AdmissionControl;
  tags: TagAllotments;
  recorder: Pick<Recorder, 'ready' | 'waiting' | 'lost' | 'refused' | 'open' | 'instance'>;
  /** Knows the requests that run; `countRunning` is absent if their intents are in the store, or the gateway is one process. */
  running: { recorder: Accounting['recorder']; countRunning: OpenSources['countRunning'] };
  /** Number of requests that run in this process. */
  countOwn(filter: IntentFilter): number;
  /** Stores the pending records of this process. */
  flushed(): Promise<void>;
  /** Settles the open requests of a worker that is gone, and releases its shares of limits. */
  forgetWorker(instance: string): Promise<void>;
  /** Writes the pending records. */
  close(): Promise<void>;
}

/** Interval of the search for requests that dead gateways left open. */
const RECOVERY_INTERVAL_MS = 10_000;
/** Interval at which idle holds on budgets and limits are released. */
const IDLE_RELEASE_INTERVAL_MS = 2_000;
/** Interval of the search for changed limits and budgets of tags. */
const TAG_REFRESH_INTERVAL_MS = 1000;
/** Interval of the removal of old records. */
const CLEANUP_INTERVAL_MS = 3_600_000;
/** Delay of the first removal, which needs a store thread with 12 MB for a while. */
const FIRST_CLEANUP_MS = 60_000;
/** Interval of the removal of budgets whose period is over. */
const BUDGET_CLEANUP_INTERVAL_MS = 60_000;
/** Interval of the check of the size of the records. */
const TRIM_INTERVAL_MS = 60_000;
/** Retention of the allowances of past minutes. */
const ALLOWANCE_RETENTION_MS = 10 * 60_000;
/** Allowances, holds or refused records that are forgotten in one transaction. */
const FORGOTTEN_BATCH = 2_000;
/** Longest wait for records or sums, of which a report may read many. */
const READ_PATIENCE_MS = 60_000;
/** Time to write pending records at shutdown while the store is unavailable. */
const FLUSH_TIMEOUT_MS = 5_000;

/** Folder of the journals in the data folder. */
const JOURNAL_FOLDER = 'journal';
/** Operations that read records, sums or spending, beside `setHold`. */
const RECORD_READS: ReadonlySet<StoreOperationName> = new Set([
  'usageRecord',
  'usageSums',
  'usageTimes',
  'usageMinutes',
  'spentBy',
  'spentBySubjects',
  'budgetUse',
  'usageByDay',
  'usageOfDay',
  'refusedUsage',
  'hoursToExport',
  'latestUsageHour',
  'searchRequests',
  'requestsSince',
  'requestRecord',
]);

/** Joins the store and settles the open requests of dead gateways. Leaves the store if that fails. */
export async function openAccounting(options: AccountingOptions): Promise<Accounting> {
  const opened = new AsyncDisposableStack();
  try {
    return await openParts(options, opened);
  } catch (error) {
    // What cannot be closed then fails for the same reason.
    await opened.disposeAsync().catch(() => undefined);
    throw error;
  }
}

async function openParts(options: AccountingOptions, opened: AsyncDisposableStack): Promise<Accounting> {
  const { store, log, config, clock, journalDisk, role = 'sole' } = options;
  const { now } = clock;
  const isWorker = role === 'worker';
  const instance = await joinStore(store, log, { role, clock, ...(options.instance && { id: options.instance }) });
  opened.defer(instance.close);
  const expiry = isWorker ? clock : await openExpiryClock(store, clock, log);
  if (!isWorker) await recoverInterrupted({ store, log });
  const { durability, journal } = config().usage;
  const hasJournal = store.engine === 'sqlite' || journal === 'local';
  const journals = { store, root: join(config().data, JOURNAL_FOLDER), durability, log, clock, disk: journalDisk };
  const recordsHere = hasJournal && role !== 'primary';
  const recorder = recordsHere
    ? await openJournalRecorder(journals)
    : (await import('../usage/recorder.ts')).createRecorder({ store, instance: instance.id, durability, log, clock });
  let firstCleanup: Promise<void> | undefined;
  let endExport: (() => Promise<void>) | undefined;
  let endDailySums: (() => Promise<void>) | undefined;
  opened.defer(async () => {
    await Promise.all([recorder.close(FLUSH_TIMEOUT_MS), firstCleanup, endExport?.(), endDailySums?.()]);
  });
  if (hasJournal && !recordsHere) await recoverAbandonedJournals(journals);
  const records = flushBeforeReads(store, { recorder, instance, clock }, options.flushOthers);
  const quota = createQuota({
    store: records,
    instance: instance.id,
    clock,
    ...(isWorker && { shared: true }),
  });
  const tags = createTagAllotments({ store, config, now });
  await tags.refresh();
  const limits = createLimitKeeper({ quota, shared: tags.shared, now });
  instance.reportReservations(() => encodeReservations(limits.reservations()));
  const closing = new AbortController();
  instance.onRemoved(() => {
    log.warn('the heartbeat of this gateway was late for long; it takes its holds of limits again');
    retryWhileUnavailable(() => limits.renewHolds(), { clock, signal: closing.signal }).catch((error) =>
      log.warn({ problem: problemOf(error) }, 'shares of limits could not be taken'),
    );
  });
  const readOthers = createReservationReader({ store, instance: instance.id });

  function repeat(milliseconds: number, work: () => Promise<void>): () => void {
    let isRunning = false;
    return every(clock, milliseconds, () => {
      if (isRunning) return;
      isRunning = true;
      work()
        .catch((error) => log.warn({ problem: problemOf(error) }, 'usage maintenance failed'))
        .finally(() => {
          isRunning = false;
        });
    });
  }
  const trimmer = createRecordTrimmer({ store: records, now });
  const cancels: (() => void)[] = [() => closing.abort()];
  opened.defer(() => {
    for (const cancel of cancels) cancel();
  });
  cancels.push(
    repeat(BUDGET_CLEANUP_INTERVAL_MS, () => {
      limits.forgetEnded();
      return limits.forgetIdleSlots();
    }),
    repeat(TAG_REFRESH_INTERVAL_MS, tags.refresh),
  );
  const maintain = () => [
    repeat(CLEANUP_INTERVAL_MS, () => cleanUp({ store, log, clock, expiry }, config().usage)),
    repeat(TRIM_INTERVAL_MS, async () => void (await trimmer.trim(config().usage.maxSize))),
  ];
  const isShared = store.engine !== 'sqlite' || role !== 'sole';
  if (isShared) cancels.push(repeat(IDLE_RELEASE_INTERVAL_MS, () => limits.releaseIdle()));
  // The primary maintains the store for its workers.
  if (!isWorker) {
    cancels.push(...maintain());
    endDailySums = startDailySums({ store, clock, log });
    if (config().usage.export) {
      const { startUsageExport } = await import('./usage-export.ts');
      endExport = startUsageExport({ store: records, instance: instance.id, config, clock, log });
    }
    const recoverOthers = async () => {
      if (instance.isAlive()) await recoverInterrupted({ store, log });
    };
    if (isShared) cancels.push(repeat(RECOVERY_INTERVAL_MS, recoverOthers));
    if (hasJournal) cancels.push(repeat(RECOVERY_INTERVAL_MS, () => recoverAbandonedJournals(journals)));
    const cleanFirst = () => {
      firstCleanup = cleanUp({ store, log, clock, expiry }, config().usage).catch((error) =>
        log.warn({ problem: problemOf(error) }, 'old usage records could not be removed'),
      );
    };
    cancels.push(clock.after(FIRST_CLEANUP_MS, cleanFirst, { background: true }));
  }

  return {
    instance: instance.id,
    admission: createAdmissionControl({ recorder, limits, store, readOthers, now }),
    tags,
    recorder,
    running: { recorder, countRunning: hasJournal ? options.countRunning : undefined },
    countOwn: (filter) => ownRequests(recorder, filter).length,
    records,
    expiry,
    flushed: () => recorder.flushed(),
    async forgetWorker(id) {
      // Its holds end when their requests are counted as spent.
      if (hasJournal) await recoverAbandonedJournals(journals);
      await store.call('removeInstance', { id });
      await recoverInterrupted({ store, log });
      await store.call('removeInstance', { id });
    },
    close: () => opened.disposeAsync(),
  };
}

/**
 * Stores pending records before they are read, and before a hold is set, so that the remaining budget is exact. A read does not wait
 * for a store that stalls.
 */
function flushBeforeReads(
  store: Store,
  {
    recorder,
    instance,
    clock,
  }: { recorder: Pick<Recorder, 'flushed' | 'isFailing'>; instance: Pick<Instance, 'ensureAlive'>; clock: Clock },
  flushOthers: () => Promise<void> = async () => {},
): Store {
  /** Fails while spending cannot be stored: a hold that does not cover it any more would let it be spent once more. */
  async function flushSpending({ budget }: Pick<ParametersOf<'setHold'>, 'budget'>): Promise<void> {
    await recorder.flushed();
    if (budget && recorder.isFailing()) throw new StoreUnavailable('usage records wait for it');
  }
  const call: Store['call'] = async (name, parameters) => {
    // Spending that other processes have not stored yet is covered by their own holds.
    if (name === 'setHold')
      await Promise.all([flushSpending(parameters as ParametersOf<'setHold'>), instance.ensureAlive()]);
    if (!RECORD_READS.has(name)) return store.call(name, parameters);
    await answerInTime(Promise.all([recorder.flushed(), flushOthers()]), clock);
    return answerInTime(store.call(name, parameters), clock, READ_PATIENCE_MS);
  };
  return {
    engine: store.engine,
    now: () => store.now(),
    health: () => store.health(),
    close: () => store.close(),
    call,
  };
}

interface CleanupOptions extends Pick<AccountingOptions, 'store' | 'log' | 'clock'> {
  /** Clock by which stored data expire. */
  expiry: Pick<Clock, 'now'>;
}

async function cleanUp({ store, log, clock, expiry }: CleanupOptions, usage: UsageConfig): Promise<void> {
  const pruned = await pruneRecords({ store, now: expiry.now }, usage);
  if (pruned > 0) log.info({ records: pruned }, 'old usage records removed');
  const limit = FORGOTTEN_BATCH;
  // Past minutes are of no use to anybody, and while the clock of expiry lags there would be many.
  const before = clock.now() - ALLOWANCE_RETENTION_MS;
  while ((await store.call('forgetAllowances', { before, limit })) >= limit);
  while ((await store.call('forgetHolds', { limit })) >= limit);
  const refusedBefore = expiry.now() - usage.keep;
  while ((await store.call('pruneRefusedUsage', { before: refusedBefore, limit })) >= limit);
}
