/** Bounds of the facts that an upstream tells of its answer. */

import type { AnswerFacts } from '../../core/operation.ts';

/** Longer than any id or name that an upstream gives in earnest. */
const MAX_FACT_CHARACTERS = 512;

/** Facts go into logs, metrics and records. */
export function boundFacts({ id, model, finish }: AnswerFacts): AnswerFacts {
  const bound = (text: string | undefined): string | undefined => text?.slice(0, MAX_FACT_CHARACTERS);
  return { id: bound(id), model: bound(model), finish: bound(finish) };
}
