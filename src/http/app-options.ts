/** Options of the gateway's server: the dependencies of its routes. */

import type { Logger } from 'pino';
import type { AdmissionControl } from '../accounting/admission.ts';
import type { Clock } from '../core/clock.ts';
import type { Prefixes } from '../core/operation.ts';
import type { Protocol } from '../core/protocol.ts';
import type { DispatchOptions } from '../inference/dispatch.ts';
import type { KeyStore } from '../keys/store.ts';
import type { ModelDirectory } from '../routing/model-directory.ts';
import type { Store } from '../store/store.ts';
import type { BackgroundResponses } from '../stored-responses/background.ts';
import type { BackgroundStreams } from '../stored-responses/background-stream.ts';
import type { StoredResponses } from '../stored-responses/service.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { RequestObserver } from '../telemetry/observer.ts';
import type { OpenSources } from '../usage/open-requests.ts';
import type { Recorder } from '../usage/recorder.ts';
import type { WebhookSecrets } from '../webhooks/secrets.ts';
import type { BodyBudget } from './body-budget.ts';
import type { OperatorAccess } from './operator-access.ts';
import type { CreateSharedRate } from './rate.ts';
import type { Dashboard } from './sessions/dashboard.ts';
import type { VideoOptions } from './videos/options.ts';

export interface WebSocketSettings {
  enabled: boolean;
  /** Maximum of one key at once. */
  perKey: number;
  /** Bytes that all of them may remember of conversations. */
  memory: number;
}

export interface AppOptions {
  protocols: readonly Protocol[];
  prefixes: Prefixes;
  version: string;
  /** Maximum size of a request body in bytes. */
  bodyLimit: number;
  /** Memory budget of all request bodies. */
  bodyBudget: BodyBudget;
  /** Maximum number of concurrent connections per client address. */
  connectionsPerAddress: number;
  /** Settings of WebSockets. */
  websockets(): WebSocketSettings;
  keys: Pick<KeyStore, 'authenticate' | 'isEmpty'>;
  /** Address ranges of proxies whose `X-Forwarded-For` is trusted. */
  trustedProxies?: readonly string[];
  store: Pick<Store, 'health' | 'call'>;
  /** Reserves the limits of every call and opens its usage meter. */
  admission: AdmissionControl;
  /** Whether usage records can be written. */
  recorder?: Pick<Recorder, 'ready' | 'open' | 'instance'>;
  /** Number of requests that run in all processes of the gateway, where others have some too. */
  countRunning?: OpenSources['countRunning'];
  models(): ModelDirectory;
  /** Responses that requests may name. */
  stored: StoredResponses;
  /** Responses for which clients do not wait. */
  background: BackgroundResponses;
  /** Their streams. */
  streams: BackgroundStreams;
  dispatch(): DispatchOptions;
  /** Observes every request. */
  observer?: RequestObserver;
  /** Metrics in Prometheus's text format. */
  metrics: Pick<Metrics, 'text' | 'contentType'>;
  /** Access to the routes for operators. */
  operator: Pick<OperatorAccess, 'token' | 'local'>;
  videos: VideoOptions;
  webhookSecrets: Pick<WebhookSecrets, 'reveal' | 'signer'>;
  /** Sessions of the dashboard and their routes; absent where it is disabled. */
  dashboard?: Dashboard | undefined;
  log: Logger;
  clock?: Clock;
  /** Whether the gateway is about to stop: it is not ready, and responses close their connections. */
  isDraining?: () => boolean;
  /** Makes the rate of wrong keys; that of this process alone if absent. */
  createRate?: CreateSharedRate;
}
