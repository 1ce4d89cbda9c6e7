/** Start and restart of the thread that delivers webhooks; its log lines and metrics arrive here. */

import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { type Clock, systemClock } from '../core/clock.ts';
import { WEBHOOK_JOB_KIND } from '../store/delivery-rows.ts';
import type { Store, StoreAccess } from '../store/store.ts';
import { storeRetryDelay } from '../store/unavailable.ts';
import type { TelemetryEvents } from '../telemetry/observer.ts';
import type { ThreadCommand, ThreadReport, ThreadSettings } from './thread-messages.ts';

export interface DeliveryThreadOptions {
  store: Pick<Store, 'call'>;
  access: StoreAccess;
  settings: ThreadSettings;
  log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Clock of the looks, restarts and ends of the thread, which has one of its own. */
  clock?: Pick<Clock, 'monotonic' | 'after'>;
  events?: Pick<TelemetryEvents, 'webhookAttempted' | 'webhookExhausted' | 'webhookThreadRestarted'>;
}

export interface DeliveryThread {
  /** A webhook is due. */
  wake(): void;
  /** Stops claiming, and aborts deliveries that do not finish within the grace period. */
  stop(graceMs: number): Promise<void>;
}

const THREAD_MODULE = new URL(`./thread${extname(import.meta.url)}`, import.meta.url);

/** Interval at which a gateway without a thread looks for webhooks of others, such as a gateway that died. */
const LOOK_INTERVAL_MS = 2_000;
/** Running time after which an end counts as the first failure. */
const STABLE_AFTER_MS = 60_000;
/** Time after the grace period within which the thread must have ended. */
const END_TIMEOUT_MS = 5_000;

/** Heap for short-lived objects. More would only hold more of the responses of hostile receivers. */
const MAX_YOUNG_GENERATION_MB = 6;

/** Starts the thread when there is a webhook to deliver. */
export function createDeliveryThread(options: DeliveryThreadOptions): DeliveryThread {
  const { store, log, events, clock = systemClock } = options;
  let worker: Worker | undefined;
  let failures = 0;
  let cancelTimer: (() => void) | undefined;
  let state: 'idle' | 'active' | 'stopped' = 'idle';

  async function look(): Promise<void> {
    const found = await store.call('hasJobs', { kind: WEBHOOK_JOB_KIND }).catch(() => false);
    if (state !== 'idle') return;
    if (found) activate();
    else schedule(LOOK_INTERVAL_MS, look);
  }

  function schedule(delayMs: number, callback: () => void): void {
    cancelTimer = clock.after(delayMs, callback, { background: true });
  }

  function activate(): void {
    state = 'active';
    cancelTimer?.();
    // The first use of libuv's thread pool creates its threads, which take over the priority of their creator.
    stat(THREAD_MODULE).finally(() => {
      if (state === 'active') start();
    });
  }

  function start(): void {
    const startedAt = clock.monotonic();
    let problem: unknown;
    const running = startWorker(options);
    worker = running;
    running.on('error', (error) => {
      problem = error;
    });
    running.on('exit', () => {
      worker = undefined;
      if (state === 'stopped') return;
      failures = clock.monotonic() - startedAt > STABLE_AFTER_MS ? 1 : failures + 1;
      log.error({ err: problem, failures }, 'the thread that delivers webhooks ended; it is started again');
      events?.webhookThreadRestarted();
      // It also ends where it cannot open the store.
      schedule(storeRetryDelay(failures), start);
    });
  }

  look();
  return {
    wake() {
      if (state === 'idle') activate();
      else if (worker) send(worker, { type: 'wake' });
    },
    async stop(graceMs) {
      state = 'stopped';
      cancelTimer?.();
      if (worker) await end(worker, graceMs, clock);
    },
  };
}

function startWorker({ access, settings, log, events }: DeliveryThreadOptions): Worker {
  const worker = new Worker(THREAD_MODULE, {
    workerData: settings,
    execArgv: [],
    name: 'webhook deliveries',
    resourceLimits: { maxYoungGenerationSizeMb: MAX_YOUNG_GENERATION_MB },
  });
  worker.unref();
  worker.on('message', (report: ThreadReport) => {
    switch (report.type) {
      case 'attach':
        if (access.engine === 'sqlite') access.attach(report.role, report.port);
        return;
      case 'log':
        for (const { level, details, text } of report.lines) log[level](details, text);
        for (const outcome of report.outcomes) events?.webhookAttempted(outcome);
        for (let count = 0; count < report.exhausted; count += 1) events?.webhookExhausted();
    }
  });
  return worker;
}

function send(worker: Worker, command: ThreadCommand): void {
  worker.postMessage(command);
}

async function end(worker: Worker, graceMs: number, clock: Pick<Clock, 'after'>): Promise<void> {
  worker.ref();
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  send(worker, { type: 'stop', graceMs });
  const cancel = clock.after(graceMs + END_TIMEOUT_MS, () => void worker.terminate());
  await ended;
  cancel();
}
