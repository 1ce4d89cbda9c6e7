/** Continuation of a conversation whose items the gateway has: the items of a request behind those before it. */

import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';

/** `isWhole`: nothing comes before the first items. Throws `invalid_request` for the output of a call that nobody made. */
export function continued(before: readonly Json[], added: readonly Json[], isWhole: boolean): Json[] {
  if (isWhole) checkOutputs(before, added);
  return [...replayable(before), ...added];
}

function checkOutputs(before: readonly Json[], added: readonly Json[]): void {
  const called = new Set<string>();
  for (const item of [...before, ...added]) if (isCall(item)) called.add(item.call_id);
  for (const [index, item] of added.entries()) {
    if (!isCallOutput(item) || called.has(item.call_id)) continue;
    const param = `input[${index}].call_id`;
    const message = `${param}: there is no call with the id "${item.call_id}" before this output.`;
    throw new GatewayError('invalid_request', message, { param });
  }
}

function isCall(item: Json): boolean {
  return isObject(item) && typeof item.call_id === 'string' && !String(item.type).endsWith('_output');
}

function isCallOutput(item: Json): boolean {
  return item?.type === 'function_call_output' || item?.type === 'custom_tool_call_output';
}

/**
 * Without reasoning that its provider has not kept and did not hand out either. An item that followed it loses its id, which
 * a provider pairs with that of the reasoning.
 */
function replayable(items: readonly Json[]): Json[] {
  const kept: Json[] = [];
  let isOrphan = false;
  for (const item of items) {
    if (isEmptyReasoning(item)) {
      isOrphan = true;
      continue;
    }
    if (!isOrphan || !isOfModel(item)) {
      isOrphan = false;
      kept.push(item);
      continue;
    }
    const { id: _, ...anonymous } = item;
    kept.push(anonymous);
  }
  return kept;
}

/** Whether an item is reasoning without content, plain or encrypted. */
export function isEmptyReasoning(item: Json): boolean {
  return (
    item?.type === 'reasoning' && !item.encrypted_content && !(Array.isArray(item.content) && item.content.length > 0)
  );
}

/** Whether a model produced an item, not a client or the result of a tool. */
export function isOfModel(item: Json): boolean {
  return item?.type === 'function_call' || item?.type === 'custom_tool_call' || item?.role === 'assistant';
}
