/** Output limit enforcement: limits the final body for an upstream to the reserved output. */

import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import type { ModelRules } from '../../core/model.ts';
import type { OutputLimit } from '../../core/output.ts';
import type { UpstreamOperations } from '../../core/protocol.ts';

/** Lowers the limit of the body in place; returns whether it changed. Throws `invalid_request` for more choices than were reserved. */
export function keepWithin(
  body: Json,
  { tokens, answers, isExplicit }: OutputLimit,
  { operation, rules }: { operation: UpstreamOperations['complete']; rules: ModelRules },
): boolean {
  const asked = operation.outputOf(body);
  if (asked.answers > answers) {
    throw new GatewayError('invalid_request', `A request may have at most ${answers} answers reserved for it.`);
  }
  if (asked.limit === undefined ? !isExplicit : asked.limit <= tokens) return false;
  operation.limitOutput(body, tokens, rules);
  return true;
}
