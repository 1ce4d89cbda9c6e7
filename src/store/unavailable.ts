/** Error of an unavailable store: full or read-only disk, lock held by another process, unreachable server. */

import { GatewayError } from '../core/errors.ts';

/** Suggested delay before a retry. */
const RETRY_AFTER_MS = 1000;

/** Reason of an error for the operator: of an unavailable store its problem, not the message for clients. */
export function problemOf(error: Error): string {
  return error instanceof StoreUnavailable ? error.problem : error.message;
}

export class StoreUnavailable extends GatewayError {
  /** Reason, for the operator. The message is for clients and reveals no internals. */
  readonly problem: string;

  constructor(problem: string, cause?: unknown) {
    super('unavailable', 'The gateway cannot reach its store at the moment; try again shortly.', {
      retryAfter: RETRY_AFTER_MS,
      cause,
    });
    this.problem = problem;
  }
}
