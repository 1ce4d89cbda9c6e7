/** Readings of a running gateway for its operators: configuration, store, and tests of providers. */

import { statfs } from 'node:fs/promises';
import type { Logger } from 'pino';
import { checkConfigText } from '../config/check-text.ts';
import { changedSettings, effectiveSettings, modelSettings } from '../config/effective.ts';
import type { ConfigSource } from '../config/load.ts';
import type { Config } from '../config/resolved.ts';
import { formatDuration, formatSize } from '../config/units.ts';
import { type Clock, every } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import type { ProviderType } from '../core/provider.ts';
import type { OperationReadings } from '../http/admin/request.ts';
import { providerTypes } from '../providers/index.ts';
import type { Store } from '../store/store.ts';
import type { Recorder } from '../usage/recorder.ts';
import type { LocalServer } from './local-servers.ts';
import type { ProviderState } from './provider-state.ts';
import { needsRestart, type ReloadableParts } from './reloadable-parts.ts';
import { readStoreFigures } from './telemetry.ts';

export interface OperationReadingsOptions {
  /** The configuration that the gateway was started with. */
  config: Config;
  startedAt: number;
  parts(): Pick<ReloadableParts, 'config' | 'models' | 'refusal'>;
  /** Ports of this gateway. */
  ports(): number[];
  configSource?: ConfigSource;
  providerTypes?: ReadonlyMap<string, ProviderType>;
  store: Pick<Store, 'call' | 'engine' | 'health' | 'now'>;
  recorder: Pick<Recorder, 'waiting' | 'lost' | 'refused' | 'ready'> | undefined;
}

/** Interval in which prices are compared with the previous ones while no client reads their changes. */
const PRICE_LOOK_MS = 5 * 60_000;

export function createOperationReadings(options: OperationReadingsOptions) {
  const { config: started, startedAt, parts, store, recorder, providerTypes: known = providerTypes } = options;
  const { configSource = { environment: {}, known } } = options;

  const providers = (): Json[] => parts().models.states().map(encodeProvider);

  function config(): Json {
    const { config: now, models, refusal } = parts();
    const { settings, isComplete } = effectiveSettings(now);
    return {
      origin: now.origin ?? null,
      started_at: new Date(startedAt).toISOString(),
      settings,
      complete: isComplete,
      changes: changedSettings(started, now),
      needs_restart: needsRestart(started, now),
      providers: providers(),
      faults: [
        ...(refusal === undefined ? [] : [{ subject: 'file', message: refusal }]),
        ...models.states().flatMap(providerFault),
      ],
    };
  }

  function checkConfig(text: string): Json {
    const { problems, unchecked, config: found } = checkConfigText(text, configSource);
    const changes = found ? changedSettings(parts().config, found).filter(({ path }) => !unchecked.includes(path)) : [];
    return { valid: problems.length === 0, problems, unchecked, changes };
  }

  async function storeHealth(): Promise<Json> {
    const { data, usage, videos, responses } = parts().config;
    const [health, disk] = await Promise.all([store.health(), diskOf(data)]);
    const figures = health.writable ? await storeFigures(store) : undefined;
    return {
      engine: store.engine,
      writable: health.writable,
      problem: health.writable ? null : 'The store cannot be written to; the log has the cause.',
      records: {
        writable: recorder?.ready ?? true,
        waiting: recorder?.waiting ?? 0,
        lost: recorder?.lost ?? 0,
        refused: recorder?.refused ?? 0,
      },
      jobs: figures?.jobs ?? null,
      bytes: figures?.bytes ?? null,
      backup_at: figures?.backupAt ?? null,
      disk,
      retention: {
        usage: formatDuration(usage.keep),
        usage_size: formatSize(usage.maxSize),
        media: formatDuration(videos.keepMediaMs),
        tasks: formatDuration(videos.keepRecordsMs),
        responses: formatDuration(responses.keepMs),
      },
    };
  }

  async function priceChanges(): Promise<Json> {
    const { priceChangesOf } = await import('./price-changes.ts');
    return priceChangesOf({ store, models: parts().models });
  }

  /** Returns how to end it. */
  function lookAtPrices(clock: Pick<Clock, 'after'>, log: Pick<Logger, 'warn'>): () => void {
    const look = () =>
      void priceChanges().catch(({ message }) => log.warn({ problem: message }, 'prices could not be compared'));
    return every(clock, PRICE_LOOK_MS, look, { background: true });
  }

  const settingsOfModel = (id: string): Json[] => modelSettings(parts().config, id);
  const testProvider = async (id: string): Promise<Json> => ({ id, ...(await parts().models.test(id)) });
  const localServers = async () => (await parts().models.findLocalServers(options.ports())).map(encodeLocalServer);
  const readings: OperationReadings = {
    config,
    settingsOfModel,
    providers,
    checkConfig,
    storeHealth,
    priceChanges,
    testProvider,
    localServers,
  };
  return { ...readings, lookAtPrices };
}

function encodeProvider({ id, state, models, waitingFor }: ProviderState): Json {
  return { id, state, models, waiting_for: waitingFor ?? null };
}

function encodeLocalServer({ baseUrl, firstModels, problem, configuredAs, ...rest }: LocalServer): Json {
  const { type, name, state, models, lines } = rest;
  const about = { type, name, base_url: baseUrl, state, problem: problem ?? null };
  return { ...about, models, first_models: firstModels, configured_as: configuredAs, lines };
}

function providerFault({ id, problem }: { id: string; problem?: string }): Json[] {
  return problem === undefined ? [] : [{ subject: id, message: problem }];
}

async function storeFigures(store: Pick<Store, 'call' | 'engine' | 'now'>) {
  try {
    const { jobs, bytes, backupAt } = await readStoreFigures(store);
    return {
      jobs: jobs.map(({ kind, due, oldestDueAt, leased }) => ({
        kind,
        due,
        leased,
        oldest_due_at: oldestDueAt === undefined ? null : new Date(oldestDueAt).toISOString(),
      })),
      bytes,
      backupAt: backupAt === undefined ? null : new Date(backupAt).toISOString(),
    };
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

/** Free and total bytes of the file system of the data folder; null if they cannot be read. */
async function diskOf(folder: string): Promise<Json> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return { free_bytes: bavail * bsize, total_bytes: blocks * bsize };
  } catch {
    return null;
  }
}
