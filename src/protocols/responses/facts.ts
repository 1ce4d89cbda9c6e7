/** Facts in a Responses body or event. */

import { isObject, type Json, textOf } from '../../core/json/json.ts';
import type { AnswerFacts } from '../../core/operation.ts';

const ENDED = ['completed', 'incomplete', 'failed', 'cancelled'];

/** The response object of an event, or the body itself. */
export function responseIn(body: Json): Json {
  return isObject(body?.response) ? body.response : body;
}

export function factsOf(body: Json): AnswerFacts {
  const response = responseIn(body);
  const isWhole = response !== body || response.object === 'response' || Array.isArray(response.output);
  return {
    ...(isWhole && { id: textOf(response.id), model: textOf(response.model), finish: finishOf(response) }),
    ...(Number.isSafeInteger(body.sequence_number) && { sequence: body.sequence_number }),
  };
}

function finishOf({ status, incomplete_details }: Json): string | undefined {
  if (!ENDED.includes(status)) return undefined;
  return textOf(incomplete_details?.reason) ?? status;
}
