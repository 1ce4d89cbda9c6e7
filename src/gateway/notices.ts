/** Notices to the operator: the checks that lead to one, their interval, and the sending. */

import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { Config, NoticesConfig } from '../config/resolved.ts';
import { type Clock, every } from '../core/clock.ts';
import type { KeyStore } from '../keys/store.ts';
import { createAddressPolicy } from '../net/address-policy.ts';
import { createGuardedClient } from '../net/guarded-client.ts';
import { createLookup } from '../net/resolver.ts';
import type { SharedAllotments } from '../records/key-settings.ts';
import { type NewDelivery, WEBHOOK_JOB_KIND } from '../store/delivery-rows.ts';
import type { Store } from '../store/store.ts';
import { problemOf } from '../store/unavailable.ts';
import type { Recorder } from '../usage/recorder.ts';
import { sendWebhook } from '../webhooks/attempt.ts';
import { NOTICE_OWNER, noticeDelivery } from '../webhooks/notice.ts';
import { reachedBudgets } from './budget-notices.ts';
import { createStoreNotices } from './store-notices.ts';
import { policyOptionsOf } from './video-tasks.ts';

export interface NoticesOptions {
  config: Config;
  /** Budgets of keys and tags. */
  tags: { shared(): SharedAllotments };
  keys: Pick<KeyStore, 'list'>;
  /** The store with all records that were acknowledged. */
  records: Pick<Store, 'call' | 'health'>;
  recorder: Pick<Recorder, 'ready' | 'lost'>;
  userAgent: string;
  clock: Clock;
  /** Clock by which stored data expire. */
  expiry: Pick<Clock, 'now'>;
  log: Pick<Logger, 'info' | 'warn'>;
  /** A job of a kind is due. */
  wake(kind: string): void;
  /** Whether another process of the gateway checks budgets and the store. */
  isWorker: boolean;
}

const CHECK_INTERVAL_MS = 30_000;
/** Checks in an hour. */
const CHECKS_PER_CLEANUP = 120;
const PRUNE_BATCH = 200;
const ADD_BATCH = 100;

/** Starts the checks. Returns the function that stops them, which resolves when the running one has ended. */
export function startNotices(options: NoticesOptions): () => Promise<void> {
  const { config, records, recorder, clock, log, isWorker } = options;
  const { notices } = config;
  if (!notices) return async () => {};
  const url = notices.webhook.reveal();
  const stopping = new AbortController();
  const sender = createSender(options, notices, stopping.signal);
  /** Ids of notices that are in the store. */
  const known = new Set<string>();
  let lost = 0;

  async function add(made: readonly NewDelivery[]): Promise<void> {
    const fresh = made.filter(({ id }) => !known.has(id));
    for (let start = 0; start < fresh.length; start += ADD_BATCH) {
      const batch = fresh.slice(start, start + ADD_BATCH);
      await records.call('addNotices', { notices: batch });
      for (const { id } of batch) known.add(id);
    }
    if (fresh.length > 0) options.wake(WEBHOOK_JOB_KIND);
  }

  async function checkRecords(): Promise<void> {
    if (recorder.lost === lost) return;
    const total = recorder.lost;
    const now = clock.now();
    const data = { host: hostname(), records: total - lost };
    await add([noticeDelivery({ event: 'usage.lost', subject: `${hostname()} ${now}`, url, createdAt: now, data })]);
    lost = total;
  }

  const checkStore = createStoreNotices({
    url,
    problem: async () => {
      if (!(await records.health()).writable) return 'The store cannot be written to.';
      return recorder.ready ? undefined : 'Usage records cannot be written.';
    },
    send: sender.send,
    add: (notice) => add([notice]),
    now: clock.now,
  });
  const checkBudgets = async () => add(await reachedBudgets({ ...options, at: notices.at, url, now: clock.now }));
  const checks = isWorker ? [checkRecords] : [checkStore, checkRecords, checkBudgets];

  async function prune(): Promise<void> {
    known.clear();
    const before = options.expiry.now() - config.videos.keepRecordsMs;
    const values = { owner: NOTICE_OWNER, before, limit: PRUNE_BATCH };
    while (!stopping.signal.aborted && (await records.call('pruneNotices', values)) === PRUNE_BATCH);
  }

  let running: Promise<void> | undefined;
  let count = 0;
  function run(): void {
    if (running) return;
    count += 1;
    const isCleanup = !isWorker && count % CHECKS_PER_CLEANUP === 0;
    running = inTurn(isCleanup ? [...checks, prune] : checks).finally(() => {
      running = undefined;
    });
  }
  /** A check that fails does not prevent the others. */
  async function inTurn(tasks: readonly (() => Promise<void>)[]): Promise<void> {
    for (const task of tasks) {
      await task().catch((error: Error) => log.warn({ problem: problemOf(error) }, 'a check for notices failed'));
    }
  }

  const cancel = every(clock, CHECK_INTERVAL_MS, run, { background: true });
  return async () => {
    cancel();
    stopping.abort();
    await running;
    sender.close();
  };
}

function createSender({ config, userAgent, clock, log }: NoticesOptions, notices: NoticesConfig, signal: AbortSignal) {
  const policy = createAddressPolicy(policyOptionsOf(config));
  const { ca, timeout: timeoutMs, standardHeaders } = config.callbacks;
  const client = createGuardedClient({
    policy,
    lookup: createLookup(policy, config.network.dnsServers),
    ...(ca !== undefined && { extraCa: ca }),
    clock,
  });
  const secrets = { signingSecrets: async () => ({ current: notices.secret.reveal() }) };

  async function send({ id, url, owner, body }: NewDelivery): Promise<boolean> {
    const { promise: drained, resolve } = Promise.withResolvers<void>();
    const { outcome, status } = await sendWebhook(
      { client, secrets, clock, userAgent, standardHeaders },
      { id, url, owner, body, sentAt: clock.now(), timeoutMs, signal, isFirst: true },
      resolve,
    );
    await drained;
    if (outcome === 'ack') log.info({ delivery: id, status }, 'webhook delivered');
    else log.warn({ delivery: id, outcome, status }, 'webhook not delivered');
    return outcome === 'ack';
  }
  return { send, close: () => client.close() };
}
