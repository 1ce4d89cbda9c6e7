/** Length limits of the id, model and finish reason of an upstream's response. */

import type { AnswerFacts } from '../../core/operation.ts';

/** Above the length of any real id or name. */
const MAX_FACT_CHARACTERS = 512;

/** Truncates the facts, which are written to logs, metrics and usage records. */
export function boundFacts({ id, model, finish, sequence }: AnswerFacts): AnswerFacts {
  const bound = (text: string | undefined): string | undefined => text?.slice(0, MAX_FACT_CHARACTERS);
  return { id: bound(id), model: bound(model), finish: bound(finish), ...(sequence !== undefined && { sequence }) };
}
