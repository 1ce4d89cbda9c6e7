/** Repair of a refused body: reasoning that the upstream cannot read is removed, so that the conversation goes on without it. */

import type { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';

/** Words of servers that leave out the code, or have another one: both occur. */
const STATE = /encrypted[ _]content/i;
const UNREADABLE = /verif|decrypt|invalid|match|pars/i;
/** Reasoning without state is looked for by its id, which other servers have not kept. */
const NOT_KEPT = /item with id '?rs_\w+'? (was )?not found/i;
/** Reasoning and the item that follows it must stand together. */
const UNPAIRED = /without its required ('reasoning'|following) item/i;

/**
 * Removes from `body`, in place, what `error` is about; returns its name, or undefined if that does not help. `isOwn`: the
 * gateway wrote the body.
 */
export function repair(body: Json, error: GatewayError, isOwn: boolean): string | undefined {
  if (isUnreadableState(error)) return removeReasoning(body) ? 'reasoning' : undefined;
  if (NOT_KEPT.test(error.message)) return removeReasoning(body) ? 'reasoning' : undefined;
  if (!isOwn) return undefined;
  if (UNPAIRED.test(error.message)) return removeReasoning(body) ? 'reasoning' : undefined;
  // Accounts that are not verified may not see summaries.
  if (error.param !== 'reasoning.summary' || body.reasoning?.summary === undefined) return undefined;
  delete body.reasoning.summary;
  return 'reasoning.summary';
}

function isUnreadableState({ upstreamCode, message }: GatewayError): boolean {
  return upstreamCode === 'invalid_encrypted_content' || (STATE.test(message) && UNREADABLE.test(message));
}

/** Items that were answered with the reasoning lose their ids, which servers pair with it. */
function removeReasoning(body: Json): boolean {
  const input: Json[] = Array.isArray(body.input) ? body.input : [];
  const kept = input.filter((item) => item?.type !== 'reasoning');
  if (kept.length === input.length) return false;
  for (const item of kept) if (isObject(item) && isOfModel(item)) delete item.id;
  body.input = kept;
  return true;
}

function isOfModel({ type, role }: Json): boolean {
  return type === 'function_call' || type === 'custom_tool_call' || role === 'assistant';
}
