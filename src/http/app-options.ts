/** Options of the gateway's server: the parts of the gateway that its routes use. */

import type { Logger } from 'pino';
import type { AdmissionControl } from '../accounting/admission.ts';
import type { Prefixes } from '../core/operation.ts';
import type { Protocol } from '../core/protocol.ts';
import type { DispatchOptions } from '../inference/dispatch.ts';
import type { KeyStore } from '../keys/store.ts';
import type { ModelDirectory } from '../routing/model-directory.ts';
import type { Store } from '../store/store.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { RequestObserver } from '../telemetry/observer.ts';
import type { Recorder } from '../usage/recorder.ts';
import type { BodyBudget } from './body-budget.ts';
import type { OperatorAccess } from './operator-access.ts';
import type { VideoOptions } from './video-options.ts';

export interface AppOptions {
  protocols: readonly Protocol[];
  prefixes: Prefixes;
  version: string;
  /** Largest request body in bytes. */
  bodyLimit: number;
  /** Of all bodies under way. */
  bodyBudget: BodyBudget;
  /** Connections of one client address at once. */
  connectionsPerAddress: number;
  keys: Pick<KeyStore, 'authenticate'>;
  /** Address ranges of the proxies whose `X-Forwarded-For` is believed. */
  trustedProxies?: readonly string[];
  store: Pick<Store, 'health' | 'call'>;
  /** Reserves the limits of every call and opens its usage meter. */
  admission: AdmissionControl;
  /** Whether usage records can be written. */
  recorder?: Pick<Recorder, 'ready'>;
  models(): ModelDirectory;
  dispatch(): DispatchOptions;
  /** Follows every request. */
  observer?: RequestObserver;
  /** Figures in Prometheus's format. */
  metrics: Pick<Metrics, 'text' | 'contentType'>;
  /** Who may read the operator's routes. */
  operator: Omit<OperatorAccess, 'log'>;
  videos: VideoOptions;
  log: Logger;
}
