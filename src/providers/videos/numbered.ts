/** Refusals that a server numbers in its own way, often inside an answer with status 200. */

import type { Json } from '../../core/json/json.ts';
import type { SubmitResult, TaskErrorCode } from '../../core/video.ts';
import { failureOf } from './answer.ts';

/** `again`: time or money cures it, here or elsewhere. `unclear`: the server failed, and a task may exist. */
export type Meaning = { code: TaskErrorCode; again?: boolean } | 'unclear';

/** Undefined where there is no number, or the one for success. */
export function refusedByNumber(
  number: Json,
  message: Json,
  meanings: ReadonlyMap<number, Meaning>,
): SubmitResult | undefined {
  if (!Number.isInteger(number) || number === 0) return undefined;
  const meaning = meanings.get(number) ?? { code: 'upstream_rejected' };
  if (meaning === 'unclear') return { type: 'unreadable' };
  return {
    type: 'rejected',
    error: failureOf({ error: { message } }, meaning.code),
    retryable: meaning.again ?? false,
  };
}
