/** Whole answers of an upstream. */

import type { ChatResponse } from '../../core/chat.ts';
import { fold } from '../../core/fold.ts';
import type { Json } from '../../core/json/json.ts';
import type { Target } from '../../core/operation.ts';
import { createAnswerDecoder } from './decode-stream-answer.ts';
import { errorIn } from './errors.ts';

/** Throws for a response that failed, was cancelled or did not end. */
export function decodeResponse(body: Json, target: Target): ChatResponse {
  const error = errorIn(body);
  if (error) throw error;
  return fold(createAnswerDecoder(target).finish(body));
}
