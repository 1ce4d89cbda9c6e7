/** Stored responses: wires their service and their retention. */

import type { Logger } from 'pino';
import type { ResponsesConfig } from '../config/resolved.ts';
import type { Clock } from '../core/clock.ts';
import type { Cipher } from '../security/cipher.ts';
import type { Store } from '../store/store.ts';
import { startRetention } from '../stored-responses/retention.ts';
import { createStoredResponses, type StoredResponses } from '../stored-responses/service.ts';
import type { TelemetryEvents } from '../telemetry/observer.ts';

export interface StoredResponsesOptions {
  store: Store;
  cipher: Cipher;
  clock: Clock;
  log: Logger;
  settings(): ResponsesConfig;
  events: Pick<TelemetryEvents, 'responseNotStored'>;
  /** Another process deletes what has expired. */
  isWorker: boolean;
}

export interface OpenedResponses {
  stored: StoredResponses;
  close(): Promise<void>;
}

export function openStoredResponses(options: StoredResponsesOptions): OpenedResponses {
  const { store, cipher, clock, log, settings, events, isWorker } = options;
  const stopRetention = isWorker ? undefined : startRetention({ store, clock, log });
  return {
    stored: createStoredResponses({
      store,
      cipher,
      clock,
      log,
      settings,
      onNotStored: events.responseNotStored,
    }),
    close: async () => stopRetention?.(),
  };
}
