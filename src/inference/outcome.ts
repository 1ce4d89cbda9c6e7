/** Outcome of a call, for logs and accounting. */

import type { Usage } from '../core/chat.ts';
import type { GatewayError } from '../core/errors.ts';
import type { AnswerFacts } from '../core/operation.ts';
import type { Attempt, RequestPath } from '../routing/attempt.ts';
import type { Endpoint } from '../routing/endpoint.ts';
import type { RequestEnding, ServingEndpoint } from '../usage/meter.ts';
import type { UsageStatus } from '../usage/record.ts';
import { askedByOptions } from './tokens/asked-tier.ts';

export interface DispatchOutcome {
  /**
   * `failed`: after the response had begun. `refused`: nothing was written yet; the caller sends the error.
   */
  status: 'complete' | 'failed' | 'refused' | 'client-closed';
  attempts: Attempt[];
  /** Endpoint of the last attempt. */
  endpoint?: Endpoint;
  path?: RequestPath;
  /** Milliseconds from the call to its end. */
  milliseconds: number;
  /** Milliseconds from the call to the first byte of the answering upstream. */
  firstByte?: number;
  facts?: AnswerFacts;
  usage?: Partial<Usage>;
  /** The usage covers only the received part of a response. */
  partial?: boolean;
  /** The gateway closed a connection after sending the request: the client disconnected, a deadline passed, or the gateway stopped. */
  abandoned?: boolean;
  error?: GatewayError;
}

export function servedBy(endpoint: Endpoint): ServingEndpoint {
  const { provider, model, dialect } = endpoint;
  const { id, billsReportedCost } = provider;
  return { provider: id, model, protocol: dialect.protocol, billsReportedCost, ...askedByOptions(endpoint) };
}

const STATUSES: Record<DispatchOutcome['status'], UsageStatus> = {
  complete: 'completed',
  failed: 'partial',
  refused: 'failed',
  'client-closed': 'cancelled',
};

/** Converts the outcome to its form in the usage record. */
export function endingOf(outcome: DispatchOutcome, trace?: RequestEnding['trace']): RequestEnding {
  const { status, endpoint, usage, abandoned, facts, error, attempts, milliseconds, firstByte } = outcome;
  return {
    status: STATUSES[status],
    served: endpoint && servedBy(endpoint),
    usage,
    abandoned,
    finish: facts?.finish,
    upstreamId: facts?.id,
    errorCode: error?.code,
    attempts: attempts.length,
    firstByte,
    total: milliseconds,
    trace,
  };
}

/** Note of an attempt that failed, with the output that its upstream had generated and may bill. */
export function withVainOutput(note: string | undefined, usage: Partial<Usage> | undefined): string | undefined {
  if (!usage?.output) return note;
  const generated = `${usage.estimated ? 'about ' : ''}${usage.output} tokens of output were discarded`;
  return note === undefined ? generated : `${note}; ${generated}`;
}
