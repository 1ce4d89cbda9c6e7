/** Observer interfaces of telemetry: typed facts about requests and events, never content or keys. */

import type { Usage } from '../core/chat.ts';
import type { ErrorCode } from '../core/errors.ts';

/** Observes requests from their head to their end. */
export interface RequestObserver {
  begin(head: RequestHead): RequestObservation;
}

export interface RequestHead {
  requestId: string;
  method: string;
  /** W3C Trace Context headers of the caller. */
  traceparent?: string;
  tracestate?: string;
}

export interface RequestObservation {
  /** Called before a request to an upstream; returns headers to add to it. */
  attemptStarting(): Record<string, string>;
  /** Called once when a model call has ended. Its attempts are in the order of `attemptStarting`. */
  callEnded(call: CallFacts): void;
  /** Called once, last. */
  requestEnded(end: RequestFacts): void;
}

/** A model call. Times are in milliseconds. */
export interface CallFacts {
  protocol: string;
  /** Its name in OpenTelemetry's conventions. */
  operation: string;
  stream: boolean;
  /** The gateway's name of the requested model. */
  model: string;
  status: 'complete' | 'failed' | 'refused' | 'client-closed';
  attempts: AttemptFacts[];
  usage?: Partial<Usage>;
  /** In 1e-12 USD. */
  cost?: bigint;
  /** Finish reason as the upstream spelled it. */
  finish?: string;
  /** The upstream's name of the model that answered. */
  responseModel?: string;
  error?: ErrorCode;
  milliseconds: number;
  firstByte?: number;
}

export interface AttemptFacts {
  provider: string;
  /** The gateway's name of the model. */
  model: string;
  /** The provider's name of the model. */
  upstreamModel: string;
  /** The upstream's HTTP status. */
  status?: number;
  error?: ErrorCode;
  firstByte?: number;
  milliseconds: number;
}

export interface RequestFacts {
  /** Name of the route, e.g. `inference.complete`. */
  route: string;
  protocol: string;
  /** The HTTP status; absent if the client disconnected before there was one. */
  status?: number;
  outcome: CallFacts['status'];
  error?: ErrorCode;
  milliseconds: number;
}

/** Events outside of requests. */
export interface TelemetryEvents {
  /** A video task reached a status. */
  videoStatusChanged(status: string): void;
  /** The mirror gave up on a finished video. */
  videoMirrorFailed(): void;
  /** An upstream reported a task status that its adapter does not know. */
  unknownVideoStatus(provider: string): void;
  webhookAttempted(outcome: string): void;
  /** A webhook was given up after its last attempt. */
  webhookExhausted(): void;
  /** The thread that delivers webhooks ended by itself and is started again. */
  webhookThreadRestarted(): void;
  /** A response could not be stored, and its client was told so. */
  responseNotStored(): void;
  /** An endpoint failed and entered its cooldown. Its id may name a credential, which no label shows. */
  endpointCooledDown(endpointId: string): void;
}

/** Combines observers; headers of later ones win. */
export function combineObservers(watches: readonly RequestObserver[]): RequestObserver {
  return {
    begin(head) {
      const requests = watches.map((watch) => watch.begin(head));
      return {
        attemptStarting: () => Object.assign({}, ...requests.map((request) => request.attemptStarting())),
        callEnded(call) {
          for (const request of requests) request.callEnded(call);
        },
        requestEnded(end) {
          for (const request of requests) request.requestEnded(end);
        },
      };
    },
  };
}
