/** Export of usage records: its target by the configuration, and its runs. */

import type { Logger } from 'pino';
import type { Config, UsageExportConfig } from '../config/resolved.ts';
import { type Clock, every } from '../core/clock.ts';
import { createS3Requests } from '../net/s3-requests.ts';
import { createTrustedClient, type TrustedClientOptions } from '../net/trusted-client.ts';
import type { Store } from '../store/store.ts';
import { createExporter } from '../usage/export/exporter.ts';
import { createFolderTarget } from '../usage/export/folder-target.ts';
import { createS3Target } from '../usage/export/s3-target.ts';
import type { ExportTarget } from '../usage/export/target.ts';

export interface UsageExportOptions {
  /** The store with all records that were acknowledged. */
  store: Pick<Store, 'call'>;
  /** Instance id of this gateway. */
  instance: string;
  config(): Pick<Config, 'usage' | 'network'>;
  clock: Clock;
  log: Pick<Logger, 'info' | 'warn'>;
}

/** The lease of a gateway that was killed ends, and hours are over, between two runs. */
const INTERVAL_MS = 60_000;

/** Returns how to end it; resolves when a run has ended. */
export function startUsageExport(options: UsageExportOptions): () => Promise<void> {
  const { store, instance, config, clock, log } = options;
  const { usage, network } = config();
  if (!usage.export) return async () => {};
  const target = targetOf(usage.export, { clock, proxy: network.proxy });
  const exporter = createExporter({ store, target, holder: instance, clock });
  let running: Promise<void> | undefined;
  const run = () => {
    running ??= exporter
      .run(config().usage.keep)
      .then((records) => {
        if (records > 0) log.info({ records }, 'usage records were exported');
      })
      .catch((error: Error) => log.warn({ problem: error.message }, 'usage records could not be exported'))
      .finally(() => {
        running = undefined;
      });
  };
  const cancel = every(clock, INTERVAL_MS, run);
  run();
  return async () => {
    cancel();
    await target.close();
    await running;
  };
}

function targetOf(settings: UsageExportConfig, options: TrustedClientOptions & { clock: Clock }): ExportTarget {
  if (settings.type === 'folder') return createFolderTarget(settings.folder);
  return createS3Target(createS3Requests(settings, options.clock.now), createTrustedClient(options));
}
