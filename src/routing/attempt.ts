/** Attempt: one try of a request at one endpoint, as the trace and the log show it. */

import type { ErrorCode } from '../core/errors.ts';

/**
 * `passthrough`: the client's bytes with another model name. `patched`: the client's JSON, adjusted to a provider.
 * `translated`: decoded to the hub and encoded in another protocol.
 */
export type RequestPath = 'passthrough' | 'patched' | 'translated';

export interface Attempt {
  /** `<provider>/<upstream model>`. */
  endpoint: string;
  /** The gateway's name of the model. */
  model: string;
  /** Counts from 1 where the provider has several. */
  credential?: number;
  path: RequestPath;
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
