/** A worker of `polygate serve --workers`: answers clients, with the store and the jobs of its primary. */

import { parseConfig } from '../config/load.ts';
import type { Config } from '../config/resolved.ts';
import { version } from '../core/version.ts';
import { type RunningGateway, startGateway } from '../gateway/gateway.ts';
import { connectToPrimary, type PrimaryConnection } from '../gateway/workers/connection.ts';
import { createPages } from '../http/ui/pages.ts';
import { type KeyStore, openKeyStore } from '../keys/store.ts';
import { openStore } from '../store/open.ts';
import { problemOf } from '../store/unavailable.ts';
import { createLog, logLastError } from '../telemetry/log.ts';
import { openLogDestination } from '../telemetry/log-destination.ts';
import { listenProblem } from './listen-problem.ts';
import { type ConfigOptions, configSource } from './source.ts';
import { releaseIdleMemory, startCompilers } from './v8.ts';

const STANDARD_ERROR = 2;

interface WorkerOptions extends ConfigOptions {
  host?: string;
  port?: number;
}

interface RunningParts {
  gateway: RunningGateway;
  keys: KeyStore;
}

export async function runWorker(options: WorkerOptions): Promise<void> {
  // A terminal and service managers signal all processes of a gateway; the primary tells its workers when to end.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  const running = Promise.withResolvers<RunningParts>();
  running.promise.catch(() => undefined);
  const stopped = Promise.withResolvers<number>();
  const connection = await connectToPrimary({
    onReload: (text) => void running.promise.then((parts) => reload(text, parts)),
    onCooldown: (circuit) => void running.promise.then(({ gateway }) => gateway.adoptCooldown(circuit)),
    onDrain: () => void running.promise.then(({ gateway }) => gateway.drain()),
    onStop: stopped.resolve,
    metricsText: async () => (await running.promise).gateway.metricsText(),
    flushed: async () => (await running.promise).gateway.flushed(),
    findCapture: async (asked) => (await running.promise).gateway.findCapture(asked),
    countRunning: async (filter) => (await running.promise).gateway.countRunning(filter),
  });
  const { start } = connection;
  const source = {
    ...configSource(options),
    host: options.host,
    port: start.port ?? options.port,
    workers: start.count,
  };
  const lines = openLogDestination(STANDARD_ERROR, { shared: true });
  const log = createLog(lines, 'info', { worker: start.number, pid: process.pid });
  logLastError(log);
  const config = parseConfig(start.text, source);

  function reload(text: string, { gateway, keys }: RunningParts): void {
    try {
      const next = parseConfig(text, source);
      gateway.reload(next);
      keys.configure(next.keys);
    } catch (error) {
      log.error(`the configuration stays as it was: ${(error as Error).message}`);
    }
  }

  const store = config.postgres ? await openStore({ ...config, role: 'owner' }) : connection.store;
  const keys = await openKeyStore({
    store,
    folder: config.data,
    configured: config.keys,
    origin: config.origin,
    onUnreadable: (error) => log.error({ problem: problemOf(error) }, 'the stored keys cannot be read'),
  });
  const gateway = await listen(
    { config, keys, store, log, version, process: connection.process, pages: createPages() },
    connection,
  );
  if (start.reloaded !== undefined) reload(start.reloaded, { gateway, keys });
  keys.startRefreshing();
  running.resolve({ gateway, keys });
  lines.startBuffering();
  startCompilers();
  const stopReleasing = releaseIdleMemory(store);

  const graceMs = await stopped.promise;
  stopReleasing();
  await gateway.close(graceMs);
  await keys.close();
  await store.close();
  process.exit(0);
}

async function listen(
  options: Parameters<typeof startGateway>[0] & { config: Config },
  { listens, failed }: PrimaryConnection,
): Promise<RunningGateway> {
  try {
    const gateway = await startGateway(options);
    await listens(gateway.address);
    return gateway;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    await failed(listenProblem(code, options.config.server) ?? message);
    process.exit(1);
  }
}
