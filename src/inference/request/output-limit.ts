/** Keeps the body for an upstream within what was reserved for it, whatever dialects, options and translation made of it. */

import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import type { ModelRules } from '../../core/model.ts';
import type { CompleteOperation } from '../../core/operation.ts';
import type { OutputLimit } from '../../core/output.ts';

/** True when the body, changed in place, asked for more. Throws `invalid_request` for more answers than were reserved. */
export function keepWithin(
  body: Json,
  { tokens, answers, isSaid }: OutputLimit,
  { operation, rules }: { operation: CompleteOperation; rules: ModelRules },
): boolean {
  const asked = operation.outputOf(body);
  if (asked.answers > answers) {
    throw new GatewayError('invalid_request', `A request may have at most ${answers} answers reserved for it.`);
  }
  if (asked.limit === undefined ? !isSaid : asked.limit <= tokens) return false;
  operation.limitOutput(body, tokens, rules);
  return true;
}
