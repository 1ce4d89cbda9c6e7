/** `polygate serve`: starts the gateway, reloads its configuration, shuts it down gracefully. */

import { isatty } from 'node:tty';
import type { Logger } from 'pino';
import { loadConfig } from '../config/load.ts';
import { watchConfig } from '../config/reload.ts';
import type { Config, ServerConfig } from '../config/resolved.ts';
import { GatewayError } from '../core/errors.ts';
import { openSecrets } from '../gateway/encryption.ts';
import { type GatewayOptions, type RunningGateway, startGateway } from '../gateway/gateway.ts';
import { boundYoungGeneration } from '../gateway/young-generation.ts';
import { type Key, type KeyStore, openKeyStore } from '../keys/store.ts';
import { openStore } from '../store/open.ts';
import { restrictDataFolder } from '../store/private-folder.ts';
import { createLog } from '../telemetry/log.ts';
import { openLogDestination } from '../telemetry/log-destination.ts';
import { banner } from './banner.ts';
import { assertNotExposed } from './exposure.ts';
import { type ConfigOptions, configSource } from './source.ts';
import { startWarnings } from './start-warnings.ts';
import { version } from './version.ts';

const STANDARD_ERROR = 2;
/** Graceful shutdown: time for running requests to finish. */
const SHUTDOWN_GRACE_MS = 30_000;
/** Time to abort the remaining requests and to write their usage records. */
const ABORT_GRACE_MS = 4000;
/** A second signal within this time is the same key press, forwarded by npm and the start script. */
const DUPLICATE_SIGNAL_MS = 500;

export interface ServeOptions extends ConfigOptions {
  host?: string;
  port?: number;
}

export async function serve(options: ServeOptions): Promise<void> {
  boundYoungGeneration();
  const lines = openLogDestination(STANDARD_ERROR);
  const log = createLog(lines);
  const source = { ...configSource(options), host: options.host, port: options.port };
  const config = loadConfig(source);
  const warnings = [...startWarnings(config), ...restrictDataFolder(config.data).map(looseModeWarning)];
  const store = await openStore({ ...config, role: 'owner' });
  const keys = await openKeyStore({
    store,
    folder: config.data,
    configured: config.keys,
    newWebhookSecret: async (owner) => (await openSecrets({ config, store })).webhooks.generateFirst(owner),
    onUnreadable: (error) => log.error({ error: error.message }, 'the stored keys cannot be read'),
  });
  const existingKeys = await keys.list();
  const gateway = await start({ config, keys, store, log, version }, existingKeys);
  for (const warning of warnings) log.warn(warning);
  keys.startRefreshing();
  const watcher = watchConfig({
    source,
    onChange: (next) => reload(next, { gateway, keys, log }),
    onInvalid: (error) => log.error(`the configuration stays as it was: ${error.message}`),
  });
  const stopped = waitForStopSignal(() => watcher.reload());
  lines.startBuffering();
  const newKey = existingKeys.length === 0 ? (await keys.create({ name: 'first' })).secret : undefined;
  process.stdout.write(banner(gateway, config, newKey));

  await stopped;
  process.stdout.write('Stopping once running requests are done, in 30 s at the latest. Ctrl-C again ends at once.\n');
  watcher.close();
  await Promise.race([gateway.close(SHUTDOWN_GRACE_MS), delay(SHUTDOWN_GRACE_MS + ABORT_GRACE_MS)]);
  await keys.close();
  await store.close();
  process.exit(0);
}

function looseModeWarning(path: string): string {
  return `${path} can be read by other users of this machine, and its mode cannot be changed.`;
}

/** Throws `unavailable` with a message for the operator if the address cannot be used. */
async function start(options: GatewayOptions, known: readonly Key[]): Promise<RunningGateway> {
  const { config, store } = options;
  try {
    assertNotExposed(config, known);
    return await startGateway(options);
  } catch (error) {
    await store.close();
    const reason = listenProblem((error as NodeJS.ErrnoException).code, config.server);
    throw reason === undefined ? error : new GatewayError('unavailable', reason, { cause: error });
  }
}

function listenProblem(code: string | undefined, { host, port }: ServerConfig): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use. Stop what listens there, or choose another port with --port.`;
    case 'EACCES':
      return `This user may not listen on port ${port}. Choose one from 1024 on with --port.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${host} is not an address of this machine. Choose another with --host.`;
    default:
      return undefined;
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

/** Resolves at the first stop signal; a later one exits at once. */
function waitForStopSignal(onHangup: () => void): Promise<void> {
  const inTerminal = isatty(0);
  return new Promise((resolve) => {
    let first: number | undefined;
    const stop = () => {
      first ??= performance.now();
      resolve();
      if (performance.now() - first > DUPLICATE_SIGNAL_MS) process.exit(1);
    };
    process.on('SIGINT', stop);
    process.on('SIGTERM', stop);
    process.on('SIGHUP', () => (inTerminal && !isatty(0) ? stop() : onHangup()));
  });
}

function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds));
}
