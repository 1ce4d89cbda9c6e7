/** What telemetry hears of requests and of what happens beside them: typed facts, never what was said or who may say it. */

import type { Usage } from '../core/chat.ts';
import type { ErrorCode } from '../core/errors.ts';

/** Follows requests, each from its head to its end. */
export interface RequestObserver {
  begin(head: RequestHead): RequestObservation;
}

export interface RequestHead {
  requestId: string;
  method: string;
  /** Of the caller's trace, as W3C Trace Context writes them. */
  traceparent?: string;
  tracestate?: string;
}

export interface RequestObservation {
  /** An upstream is about to be asked; the headers go along. */
  attemptStarting(): Record<string, string>;
  /** Once, for a request that was routed to a model, when it is over. Its attempts are in the order of `attempt`. */
  callEnded(call: CallFacts): void;
  /** Once, after everything else. */
  requestEnded(end: RequestFacts): void;
}

/** A request for a model. All times are milliseconds. */
export interface CallFacts {
  protocol: string;
  /** Its name in OpenTelemetry's conventions. */
  operation: string;
  stream: boolean;
  /** The gateway's name of the model that was asked for. */
  model: string;
  status: 'complete' | 'failed' | 'refused' | 'client-closed';
  attempts: AttemptFacts[];
  usage?: Partial<Usage>;
  /** In 1e-12 USD. */
  cost?: bigint;
  /** The upstream's own word for why the answer ended. */
  finish?: string;
  /** The upstream's own name of the model that answered. */
  responseModel?: string;
  error?: ErrorCode;
  milliseconds: number;
  firstByte?: number;
}

export interface AttemptFacts {
  provider: string;
  /** The gateway's name of the model. */
  model: string;
  /** The provider's name of it. */
  upstreamModel: string;
  /** The upstream's HTTP status. */
  status?: number;
  error?: ErrorCode;
  firstByte?: number;
  milliseconds: number;
}

export interface RequestFacts {
  /** Which of our routes it was, e.g. `inference.complete`. */
  route: string;
  protocol: string;
  /** The HTTP status; absent when the client left before there was one. */
  status?: number;
  outcome: CallFacts['status'];
  error?: ErrorCode;
  milliseconds: number;
}

/** What happens beside requests. */
export interface TelemetryEvents {
  /** A video task has come to a status. */
  videoStatusChanged(status: string): void;
  /** The mirror gave up on a finished video. */
  videoMirrorFailed(): void;
  /** An upstream says a status of a task that no adapter knows. */
  unknownVideoStatus(provider: string): void;
  webhookAttempted(outcome: string): void;
  /** An endpoint failed and is left alone for a while. */
  endpointCooledDown(provider: string, model: string): void;
}

/** Several as one; headers of the later ones win. */
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
