/** `polygate serve`: starts the gateway, reloads its configuration, shuts it down gracefully. */

import { randomUUID } from 'node:crypto';
import { isatty } from 'node:tty';
import type { Logger } from 'pino';
import { parseConfig } from '../config/load.ts';
import { readConfigText } from '../config/location.ts';
import { type ConfigWatcher, watchConfig } from '../config/reload.ts';
import type { Config } from '../config/resolved.ts';
import { formatDuration } from '../config/units.ts';
import { workerCount } from '../config/workers.ts';
import { sleep, systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { version } from '../core/version.ts';
import { openSecrets } from '../gateway/encryption.ts';
import { type GatewayOptions, type RunningGateway, startGateway } from '../gateway/gateway.ts';
import type { PrimaryProcess } from '../gateway/process.ts';
import { isWorkerProcess } from '../gateway/workers/connection.ts';
import type { PrimaryOptions, Workers } from '../gateway/workers/primary.ts';
import { createPages } from '../http/ui/pages.ts';
import { type KeyStore, openKeyStore } from '../keys/store.ts';
import { initialSettings } from '../records/key-settings.ts';
import { openStore } from '../store/open.ts';
import { restrictDataFolder } from '../store/private-folder.ts';
import type { Store } from '../store/store.ts';
import { problemOf } from '../store/unavailable.ts';
import { createLog, logLastError } from '../telemetry/log.ts';
import { openLogDestination } from '../telemetry/log-destination.ts';
import { banner } from './banner.ts';
import { startCatalogSchedule } from './catalog-schedule.ts';
import { makeFirstKey, missingKeyWarning, readFirstKey } from './first-key.ts';
import { listenProblem } from './listen-problem.ts';
import { dashboardHint, firstLink } from './login-link.ts';
import { connectServiceManager } from './service-manager.ts';
import { type ConfigOptions, configArguments, configSource } from './source.ts';
import {
  ownAddressWarnings,
  startWarnings,
  unknownKeyWarnings,
  unknownModelWarning,
  waitingWarnings,
} from './start-warnings.ts';
import {
  boundYoungGeneration,
  collectFullyLater,
  collectWithoutHelpers,
  inlineMore,
  keepHotCode,
  releaseIdleMemory,
  releaseStartMemory,
  shareBuiltins,
  startCompilers,
} from './v8.ts';

const STANDARD_ERROR = 2;
/** Graceful shutdown: time for running requests to finish. */
const SHUTDOWN_GRACE_MS = 30_000;
/** Time to abort the remaining requests and to write their usage records. */
const ABORT_GRACE_MS = 4000;
/** The banner waits so long for the models of providers that are asked for them. */
const DISCOVERY_WAIT_MS = 1000;
/** A second signal within this time is the same key press, forwarded by npm and the start script. */
const DUPLICATE_SIGNAL_MS = 500;

export interface ServeOptions extends ConfigOptions {
  host?: string;
  port?: number;
  workers?: number | 'auto';
}

export async function serve(options: ServeOptions): Promise<void> {
  setUpV8();
  if (isWorkerProcess()) return (await import('./worker.ts')).runWorker(options);
  const asked = options.workers === undefined ? {} : { workers: workerCount(options.workers) };
  const source = { ...configSource(options), host: options.host, port: options.port, ...asked };
  const text = readConfigText(source);
  const config = parseConfig(text, source);
  let current = config;
  const count = config.server.workers;
  const hasWorkers = count > 1;
  const lines = openLogDestination(STANDARD_ERROR, { shared: hasWorkers });
  const log = createLog(lines, 'info', hasWorkers ? { pid: process.pid } : undefined);
  logLastError(log);
  const warnings = [...startWarnings(config), ...restrictDataFolder(config.data).map(looseModeWarning)];
  const store = await openStore({ ...config, role: 'owner' });
  const keys = await openKeyStore({
    store,
    folder: config.data,
    configured: config.keys,
    origin: config.origin,
    newWebhookSecret: async (owner) => (await openSecrets({ config, store })).webhooks.generateFirst(owner),
    onUnreadable: (error) => log.error({ problem: problemOf(error) }, 'the stored keys cannot be read'),
  });
  const isNew = (await keys.list()).length === 0;
  const firstKey = isNew ? readFirstKey(process.env) : undefined;
  const instance = randomUUID();
  let workers: Workers | undefined;
  const primary: PrimaryProcess = {
    role: 'primary',
    instance,
    flushOthers: async () => workers?.flushed(),
    findCapture: async (asked) => workers?.findCapture(asked),
    countRunning: async (filter) => (await workers?.countRunning(filter)) ?? 0,
  };
  const place = hasWorkers ? { process: primary } : { pages: createPages() };
  const gateway = await start({ config, configSource: source, keys, store, log, version, ...place }, firstKey);
  let watcher: ConfigWatcher | undefined;
  // From now on requests are served, also before the last worker is ready.
  const stopped = waitForStopSignal(() => watcher?.reload());
  if (hasWorkers) workers = await startAll({ gateway, store, log, count, instance, text });
  for (const warning of warnings) log.warn(warning);
  keys.startRefreshing();
  watcher = watchConfig({
    source,
    onChange(next, changed) {
      current = next;
      reload(next, { gateway, keys, log });
      workers?.reload(changed);
    },
    onInvalid(error) {
      log.error(`the configuration stays as it was: ${error.message}`);
      gateway.refuseReload(error.message);
    },
  });
  const endCatalogSchedule = startCatalogSchedule({
    program: [process.execPath, ...process.execArgv, process.argv[1] ?? ''],
    options: configArguments(source),
    config: () => current,
    clock: systemClock,
    log,
    onUpdated: () => watcher?.reload(),
  });
  const service = connectServiceManager({ environment: process.env, log, clock: systemClock });
  lines.startBuffering();
  await showBanner({ gateway, store, keys, config, isNew, firstKey, port: options.port, workers });
  service.ready();
  startCompilers();
  const stopReleasing = releaseIdleMemory(store);

  const signal = await stopped;
  stopReleasing();
  service.stopping();
  // A gateway that is stopped by Ctrl-C has no load balancer that must notice.
  if (signal === 'SIGTERM') await drain(current.server.drain, gateway, workers);
  process.stderr.write('Stopping once running requests are done, in 30 s at the latest. Ctrl-C again ends at once.\n');
  endCatalogSchedule();
  watcher.close();
  const timeoutMs = SHUTDOWN_GRACE_MS + ABORT_GRACE_MS;
  // Workers use the store of this process until their requests are done.
  const closed = Promise.all([workers?.stop(SHUTDOWN_GRACE_MS, timeoutMs), gateway.close(SHUTDOWN_GRACE_MS)]);
  await Promise.race([closed, sleep(systemClock, timeoutMs)]);
  await keys.close();
  await store.close();
  process.exit(0);
}

function setUpV8(): void {
  boundYoungGeneration();
  shareBuiltins();
  collectWithoutHelpers();
  keepHotCode();
  collectFullyLater();
  inlineMore();
}

interface StartedParts {
  gateway: RunningGateway;
  store: Store;
  keys: KeyStore;
  config: Config;
  /** Whether there was no key before this start. */
  isNew: boolean;
  /** Text of the first key, if the environment names one. */
  firstKey: string | undefined;
  /** Port of the command line. */
  port: number | undefined;
  workers: Workers | undefined;
}

/** Prints the banner, with the key and the link of a first start. Gives back the memory that the start took. */
async function showBanner(started: StartedParts): Promise<void> {
  const { gateway, store, keys, config, isNew, firstKey, port, workers } = started;
  const discovered = gateway.discovered().then(() => true);
  const isDiscovered = await Promise.race([discovered, sleep(systemClock, DISCOVERY_WAIT_MS)]);
  // As late as possible: if the start is killed in between, nobody knows the key.
  const newKey = isNew && firstKey === undefined ? await makeFirstKey(keys, config) : undefined;
  const link = newKey === undefined ? undefined : await firstLink(store, config, gateway.address);
  const hint = dashboardHint(config, gateway.address, port);
  const allKeys = await keys.list();
  const warning = missingKeyWarning(config, allKeys);
  const unknown = [
    ...ownAddressWarnings(config),
    ...waitingWarnings(config),
    ...(isDiscovered ? gateway.unknownModels().map(unknownModelWarning) : []),
    ...unknownKeyWarnings(config, allKeys),
  ];
  releaseStartMemory(store);
  const pids = workers?.pids() ?? [];
  process.stderr.write(banner({ gateway, config, newKey, link, hint, warning, unknown, workers: pids }));
}

/** Accepts requests for some milliseconds more, while `/readyz` says that the gateway is not ready. */
async function drain(milliseconds: number, gateway: RunningGateway, workers: Workers | undefined): Promise<void> {
  if (milliseconds === 0) return;
  gateway.drain();
  workers?.drain();
  process.stderr.write(`Not ready any more; requests are accepted for ${formatDuration(milliseconds)}.\n`);
  await sleep(systemClock, milliseconds);
}

function looseModeWarning(path: string): string {
  return `${path} can be read by other users of this machine, and its mode cannot be changed.`;
}

/** Throws `unavailable` with a message for the operator if the address cannot be used. */
async function start(options: GatewayOptions, firstKey: string | undefined): Promise<RunningGateway> {
  const { config, keys, store } = options;
  try {
    if (firstKey !== undefined) await keys.createFirst(initialSettings(config.allotments.keyDefaults), firstKey);
    return await startGateway(options);
  } catch (error) {
    await store.close();
    const reason = listenProblem((error as NodeJS.ErrnoException).code, config.server);
    throw reason === undefined ? error : new GatewayError('unavailable', reason, { cause: error });
  }
}

async function startAll(options: PrimaryOptions): Promise<Workers> {
  try {
    const { startWorkers } = await import('../gateway/workers/primary.ts');
    return await startWorkers(options);
  } catch (error) {
    await options.gateway.close();
    await options.store.close();
    throw error;
  }
}

interface ReloadContext {
  gateway: RunningGateway;
  keys: KeyStore;
  log: Logger;
}

function reload(next: Config, { gateway, keys, log }: ReloadContext): void {
  const restart = gateway.reload(next);
  keys.configure(next.keys);
  log.info('the configuration is reloaded');
  if (restart.length > 0) log.warn(`a restart is needed for ${restart.join(', ')}`);
}

/** Resolves with the first stop signal; a later one exits at once. */
function waitForStopSignal(onHangup: () => void): Promise<NodeJS.Signals> {
  const inTerminal = isatty(0);
  return new Promise((resolve) => {
    let first: number | undefined;
    const stop = (signal: NodeJS.Signals) => {
      first ??= systemClock.monotonic();
      resolve(signal);
      if (systemClock.monotonic() - first > DUPLICATE_SIGNAL_MS) process.exit(1);
    };
    process.on('SIGINT', stop);
    process.on('SIGTERM', stop);
    process.on('SIGHUP', () => (inTerminal && !isatty(0) ? stop('SIGHUP') : onHangup()));
  });
}
