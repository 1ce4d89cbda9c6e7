/** Request context: one request as its handlers see it, and the parts of the gateway that they use. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { AdmissionControl } from '../accounting/admission.ts';
import { type ErrorCode, GatewayError } from '../core/errors.ts';
import type { Prefixes } from '../core/operation.ts';
import type { Protocol } from '../core/protocol.ts';
import type { DispatchOptions } from '../inference/dispatch.ts';
import type { DispatchOutcome } from '../inference/outcome.ts';
import type { Key, KeyStore } from '../keys/store.ts';
import type { RoutingDecision } from '../routing/decision.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import type { ModelDirectory } from '../routing/model-directory.ts';
import type { Store } from '../store/store.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { RequestObserver } from '../telemetry/observer.ts';
import type { Recorder } from '../usage/recorder.ts';
import type { BodyBudget, BodyReservation } from './body-budget.ts';
import type { OperatorAccess } from './operator-access.ts';
import type { RequestHold } from './request-hold.ts';
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
  /** Opens the account of every call for a model. */
  accounts: AdmissionControl;
  /** Says whether requests can be accounted for. */
  recorder?: Pick<Recorder, 'ready'>;
  models(): ModelDirectory;
  dispatch(): DispatchOptions;
  /** Follows every request. */
  watch?: RequestObserver;
  /** Figures in Prometheus's format. */
  metrics: Pick<Metrics, 'text' | 'contentType'>;
  /** Who may read the operator's routes. */
  operator: Omit<OperatorAccess, 'log'>;
  videos: VideoOptions;
  log: Logger;
}

/** One request as the handlers see it. */
export interface RequestContext {
  requestId: string;
  protocol: Protocol;
  path: string;
  query: URLSearchParams;
  request: FastifyRequest;
  reply: FastifyReply;
  /** Headers of every answer. */
  common: Record<string, string>;
  observation: Observation;
  hold: RequestHold;
  /** Whose request it is, on the routes that need a key. */
  key?: Key;
  /** Room for the body, where there is one. */
  body?: BodyReservation;
}

/** Throws `invalid_api_key`. */
export function keyOf({ key }: Pick<RequestContext, 'key'>): Key {
  if (!key) throw new GatewayError('invalid_api_key', 'An API key is required.');
  return key;
}

export interface Observation {
  /** The name of the route, e.g. `videos.create`. */
  route: string;
  /** The id of the protocol that the client speaks. */
  protocol: string;
  /** The id of the client's key. */
  key?: string;
  /** What the client was told. */
  error?: ErrorCode;
  /** An upstream is about to be asked; the headers go along. */
  attempt(): Record<string, string>;
  /** Gives the call's outcome once that is told; the request is not over before. */
  follow(call: FollowedCall, outcome: Promise<DispatchOutcome>): Promise<DispatchOutcome>;
}

export interface FollowedCall {
  call: InferenceCall;
  key: Key;
  route: RoutingDecision;
  /** In 1e-12 USD. */
  costOf(outcome: DispatchOutcome): bigint | undefined;
}
