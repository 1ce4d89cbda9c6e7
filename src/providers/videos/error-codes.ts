/** Refusals that a server numbers in its own way, often inside an answer with status 200. */

import type { Json } from '../../core/json/json.ts';
import type { SubmitResult, TaskErrorCode } from '../../core/video.ts';
import { failureOf } from './answer.ts';

/** `again`: time or money cures it, here or elsewhere. `unclear`: the server failed, and a task may exist. */
export type ErrorMeaning = { code: TaskErrorCode; retryable?: boolean } | 'unclear';

/** Undefined where there is no number, or the one for success. */
export function resultOfErrorCode(
  errorCode: Json,
  message: Json,
  meanings: ReadonlyMap<number, ErrorMeaning>,
): SubmitResult | undefined {
  if (!Number.isInteger(errorCode) || errorCode === 0) return undefined;
  const meaning = meanings.get(errorCode) ?? { code: 'upstream_rejected' };
  if (meaning === 'unclear') return { type: 'unreadable' };
  return {
    type: 'rejected',
    error: failureOf({ error: { message } }, meaning.code),
    retryable: meaning.retryable ?? false,
  };
}
