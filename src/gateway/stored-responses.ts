/** Stored responses: wires their service, their retention, and the jobs of those in the background. */

import type { Logger } from 'pino';
import type { ResponsesConfig } from '../config/resolved.ts';
import type { Clock } from '../core/clock.ts';
import type { AppOptions } from '../http/app-options.ts';
import type { Scheduler } from '../jobs/job.ts';
import type { KeyStore } from '../keys/store.ts';
import { protocolOf } from '../protocols/index.ts';
import type { Cipher } from '../security/cipher.ts';
import type { Store } from '../store/store.ts';
import {
  type BackgroundResponses,
  createBackgroundResponses,
  RESPONSE_JOB_KIND,
} from '../stored-responses/background.ts';
import { type BackgroundStreams, createBackgroundStreams } from '../stored-responses/background-stream.ts';
import { readingInTurn } from '../stored-responses/context.ts';
import { startRetention } from '../stored-responses/retention.ts';
import { createStoredResponses, type StoredResponses } from '../stored-responses/service.ts';
import type { TelemetryEvents } from '../telemetry/observer.ts';
import { startBackgroundJobs } from './background-responses.ts';

export interface StoredResponsesOptions {
  store: Store;
  cipher: Cipher;
  clock: Clock;
  /** Clock by which stored data expire. */
  expiry: Pick<Clock, 'now'>;
  log: Logger;
  settings(): ResponsesConfig;
  events: Pick<TelemetryEvents, 'responseNotStored'>;
  keys: Pick<KeyStore, 'find'>;
  /** In a worker: tells the primary, which runs jobs and deletes expired data, that a job of a kind is due. */
  wakePrimary: ((kind: string) => void) | undefined;
}

export interface OpenedResponses {
  stored: StoredResponses;
  background: BackgroundResponses;
  streams: BackgroundStreams;
  /** Runs background responses like requests of clients. */
  start(app: AppOptions): void;
  /** A job is due. */
  wake(): void;
  /** Ends responses that run for more than `grace` milliseconds. */
  stop(grace: number): Promise<void>;
}

export function openStoredResponses(options: StoredResponsesOptions): OpenedResponses {
  const { store, cipher, clock, expiry, log, settings, events, keys, wakePrimary } = options;
  const stopRetention = wakePrimary ? undefined : startRetention({ store, clock, expiry, log });
  let jobs: Scheduler | undefined;

  function wake(): void {
    if (wakePrimary) wakePrimary(RESPONSE_JOB_KIND);
    else jobs?.wake(RESPONSE_JOB_KIND);
  }

  const context = {
    store: readingInTurn(store),
    cipher,
    clock,
    log,
    settings,
    onNotStored: events.responseNotStored,
  };
  const background = createBackgroundResponses({ ...context, wake });
  return {
    stored: createStoredResponses(context),
    background,
    streams: createBackgroundStreams(context),
    start(app) {
      if (wakePrimary) return;
      jobs = startBackgroundJobs({ store, background, keys, app, protocol: protocolOf('responses'), clock, log });
    },
    wake,
    async stop(grace) {
      await Promise.all([jobs?.stop(grace), stopRetention?.()]);
    },
  };
}
