/** What became of a call, for logs and accounts. */

import type { Usage } from '../core/chat.ts';
import type { ErrorCode, GatewayError } from '../core/errors.ts';
import type { AnswerFacts } from '../core/protocol.ts';
import type { Ending, Served } from '../usage/account.ts';
import type { UsageStatus } from '../usage/record.ts';
import type { Endpoint } from './call.ts';
import type { Path } from './plan.ts';

/** One request to an upstream. */
export interface Attempt {
  /** `<provider>/<upstream model>`. */
  endpoint: string;
  /** The gateway's name of the model. */
  model: string;
  /** Counts from 1 where the provider has several. */
  credential?: number;
  path: Path;
  /** The upstream's HTTP status; absent when there was no answer. */
  status?: number;
  /** What it failed with. */
  error?: ErrorCode;
  /** Until the first byte of the answer's body; absent when none came. */
  firstByte?: number;
  /** From the request to the end of the answer. Grows while it is under way. */
  milliseconds: number;
  /** Fields that this endpoint could not be told. */
  dropped: string[];
}

export interface Outcome {
  /**
   * `failed`: after the answer had begun. `refused`: nothing was written, the client is yet to be told the error.
   */
  status: 'complete' | 'failed' | 'refused' | 'client-closed';
  attempts: Attempt[];
  /** Of the last attempt. */
  endpoint?: Endpoint;
  path?: Path;
  /** From the call to its end. */
  milliseconds: number;
  /** From the call to the first byte of the upstream that answered. */
  firstByte?: number;
  facts?: AnswerFacts;
  usage?: Partial<Usage>;
  /** The usage is that of an answer which was cut. */
  partial?: boolean;
  /** The gateway hung up on an upstream that had the request: the client left, a deadline passed, or the gateway stopped. */
  abandoned?: boolean;
  error?: GatewayError;
}

export function servedBy({ provider, model }: Endpoint): Served {
  const { id, protocol, billsReportedCost } = provider;
  return { provider: id, model, protocol, ...(billsReportedCost && { billsReportedCost }) };
}

const STATUSES: Record<Outcome['status'], UsageStatus> = {
  complete: 'completed',
  failed: 'partial',
  refused: 'failed',
  'client-closed': 'cancelled',
};

/** The outcome as the account has it. */
export function endingOf(outcome: Outcome): Ending {
  const { status, endpoint, usage, abandoned, facts, error, attempts, milliseconds, firstByte } = outcome;
  return {
    status: STATUSES[status],
    ...(endpoint && { served: servedBy(endpoint) }),
    usage,
    abandoned,
    finish: facts?.finish,
    upstreamId: facts?.id,
    errorCode: error?.code,
    attempts: attempts.length,
    firstByte,
    total: milliseconds,
  };
}
