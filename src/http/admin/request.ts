/** Requests of the admin API, as its handlers receive them. */

import type { Logger } from 'pino';
import type { AdmissionControl } from '../../accounting/admission.ts';
import type { Clock } from '../../core/clock.ts';
import type { Json } from '../../core/json/json.ts';
import type { Protocol } from '../../core/protocol.ts';
import type { KeyStore } from '../../keys/store.ts';
import type { TagAllotments } from '../../limits/tag-allotments.ts';
import type { ModelDirectory } from '../../routing/model-directory.ts';
import type { RoutingState } from '../../routing/state.ts';
import type { Secret } from '../../security/secret.ts';
import type { Author } from '../../store/audit-rows.ts';
import type { Store } from '../../store/store.ts';
import type { OpenSources } from '../../usage/open-requests.ts';
import type { WebhookSecrets } from '../../webhooks/secrets.ts';
import type { AppOptions } from '../app-options.ts';
import type { BodyBudget } from '../body-budget.ts';
import type { Captures } from '../captures.ts';
import type { KeyEntranceOptions } from '../key-entrance.ts';
import type { HttpContext, RequestContext } from '../request-context.ts';
import type { FoundRoute, MissedRoute, Route } from '../route-table.ts';
import type { SessionGate } from '../sessions/gate.ts';
import type { BrowserSession } from '../sessions/sessions.ts';
import type { VideoOptions } from '../videos/options.ts';

/** Options of the listener of the admin API. */
export interface AdminServerOptions {
  token: Secret;
  routes: readonly Route<HttpContext>[];
  /** Gate of sessions of the dashboard; absent where it is disabled. */
  gate: SessionGate | undefined;
  /** Error format. */
  protocol: Protocol;
  /** Shared with the gateway's server. */
  bodyBudget: BodyBudget;
  log: Logger;
  clock: Clock;
  /** Calls of models by sessions; absent where the dashboard is disabled. */
  calls: ModelCalls | undefined;
}

/** Parts of the gateway's server that calls of models at this address use, too. */
export interface ModelCalls extends KeyEntranceOptions, Pick<AppOptions, 'bodyLimit' | 'observer'> {
  routes: readonly Route<RequestContext>[];
}

/** State of a running gateway, without secrets. */
export interface OperationReadings {
  config(): Json;
  /** Settings that add a model, change it, or give it another name. */
  settingsOfModel(id: string): Json[];
  /** State of each provider. */
  providers(): Json[];
  /** Checks the text of a configuration file without applying it. */
  checkConfig(text: string): Json;
  storeHealth(): Promise<Json>;
  /** Returns when the prices of models changed, and remembers those of now. */
  priceChanges(): Promise<Json>;
  /** Rejects with `not_found` for a provider that is not configured. */
  testProvider(id: string): Promise<Json>;
  /** Model servers of this machine, at their usual addresses. */
  localServers(): Promise<Json[]>;
}

/** Options of the handlers. */
export interface AdminOptions {
  keys: KeyStore;
  secrets: WebhookSecrets;
  store: Pick<Store, 'call' | 'engine' | 'now'>;
  video: VideoOptions;
  models(): ModelDirectory;
  routing: RoutingState;
  /** Knows the limits and budgets of keys. */
  admission: Pick<AdmissionControl, 'subjects' | 'reservations'>;
  tags: TagAllotments;
  /** Hosted tools other than web search are refused. */
  refusesUnsupportedSearch(): boolean;
  /** Knows the requests that run in this process. */
  recorder: OpenSources['recorder'];
  countRunning: OpenSources['countRunning'];
  operation: OperationReadings;
  /** Id of this process among those that share the store. */
  instance: string;
  clock: Clock;
  /** Captures of sessions; absent where they are disabled. */
  captures: Captures | undefined;
}

/** Authorized request of the operator. */
export interface AdminRequest {
  parameters: Partial<Record<string, string>>;
  query: URLSearchParams;
  /** Empty object without a body. */
  body: Json;
  author: Author;
  /** Session of the dashboard, where that is the credential. */
  session: BrowserSession | undefined;
  /** For handlers that send bytes by themselves, and then give nothing. */
  context: HttpContext;
}

export type AdminContext = HttpContext & { found: FoundRoute<AdminContext> | MissedRoute };
