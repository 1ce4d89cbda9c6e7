/** Finish reasons of Responses: decoded to the hub. */

import type { Finish } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';

/** Statuses of a response that was not finished. */
const UNFINISHED = ['queued', 'in_progress'];

/** `seen`: kinds of parts in the answer. Throws for a response without an answer. */
export function decodeFinish({ status, incomplete_details }: Json, seen: { calls: boolean; refusal: boolean }): Finish {
  if (status === 'cancelled') throw new GatewayError('upstream_error', 'The provider cancelled its response.');
  if (UNFINISHED.includes(status))
    throw new GatewayError('upstream_error', 'The provider did not finish its response.');
  const raw: string = incomplete_details?.reason ?? status ?? 'completed';
  if (status !== 'incomplete') return { reason: seen.refusal ? 'refused' : seen.calls ? 'calls' : 'stop', raw };
  if (raw !== 'content_filter') return { reason: 'length', raw };
  return { reason: seen.refusal ? 'refused' : 'filtered', raw };
}
