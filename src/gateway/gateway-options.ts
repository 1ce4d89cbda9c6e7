/** Options of a gateway. */

import type { Logger } from 'pino';
import type { ConfigSource } from '../config/load.ts';
import type { Config } from '../config/resolved.ts';
import type { Clock } from '../core/clock.ts';
import type { ProviderType } from '../core/provider.ts';
import type { KeyStore } from '../keys/store.ts';
import type { FetchBytes } from '../net/guarded-client.ts';
import type { Store } from '../store/store.ts';
import type { JournalDisk } from '../usage/journal/disk.ts';
import type { DashboardWiring } from './dashboard.ts';
import type { GatewayProcess } from './process.ts';

export interface GatewayOptions extends Pick<DashboardWiring, 'pages'> {
  config: Config;
  keys: KeyStore;
  store: Store;
  log: Logger;
  version: string;
  /** Fetches media that clients reference by URL; by default from public addresses only. */
  fetchBytes?: FetchBytes;
  /** The types of providers there are; the gateway's own if absent. */
  providerTypes?: ReadonlyMap<string, ProviderType>;
  /** Disk of the journal of usage records; that of this machine if absent. */
  journalDisk?: JournalDisk;
  /** Clock of the gateway; the clock of the store and of this machine if absent. */
  clock?: Clock;
  /** Source of `config`, for checks of other texts. */
  configSource?: ConfigSource;
  /** Place of this process among those of the gateway; absent if it is the only one. */
  process?: GatewayProcess;
}
