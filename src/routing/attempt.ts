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
  /** Number of the credential, from 1; absent if the provider has only one. */
  credential?: number;
  path: RequestPath;
  /** The upstream's HTTP status; absent without a response. */
  status?: number;
  /** Error code of a failed attempt. */
  error?: ErrorCode;
  /** Time until there was a connection; 0 for one that was kept alive, absent without one. */
  connected?: number;
  /** Time to the first byte of the response body; absent if none arrived. */
  firstByte?: number;
  /** Duration until the end of the response; grows while the attempt runs. */
  milliseconds: number;
  /** Fields that were dropped for this endpoint. */
  dropped: string[];
  /** Reason for which the endpoint was asked again, or in another protocol. */
  note?: string;
  /** Cooldown of the endpoint that the attempt began, in milliseconds; absent if it began none. */
  cooldownMs?: number;
  /** Headers of the response that a trace keeps, encoded. */
  headers?: string;
}
