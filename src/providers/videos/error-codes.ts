/** Numeric error codes, often in responses with status 200. */

import type { Json } from '../../core/json/json.ts';
import type { SubmitResult, TaskErrorCode } from '../../core/video.ts';
import { failureOf } from './response.ts';

/** `retryable`: temporary, such as payment, quota or rate limits. `unclear`: server error; a task may exist. */
export type ErrorMeaning = { code: TaskErrorCode; retryable?: boolean } | 'unclear';

/** Undefined without an error code, or with the code for success. */
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
