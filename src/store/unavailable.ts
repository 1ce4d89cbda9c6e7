/** What callers get while the store's engine cannot work: full or read-only disk, lock held elsewhere, server away. */

import { GatewayError } from '../core/errors.ts';

/** Milliseconds after which trying again makes sense. */
const RETRY_AFTER = 1000;

export class StoreUnavailable extends GatewayError {
  /** For the operator; the message is for clients and says nothing about our inside. */
  readonly problem: string;

  constructor(problem: string, cause?: unknown) {
    super('unavailable', 'The gateway cannot reach its store at the moment; try again shortly.', {
      retryAfter: RETRY_AFTER,
      cause,
    });
    this.problem = problem;
  }
}
