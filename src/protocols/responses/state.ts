/** Wrapped state in a body relayed to an upstream of the Responses protocol. */

import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { unwrap } from '../../core/opaque.ts';
import { isOfModel } from './continuation.ts';

/**
 * Unwraps state of `origin` and removes reasoning of other origins, in place; returns whether the body changed. Items that
 * followed removed reasoning lose their id, which a server pairs with that of the reasoning. Reasoning that led to nothing, as
 * at the end of an answer that was cut off, is removed, too: a server refuses it. Throws for compacted history of another
 * origin, which cannot be removed.
 */
export function restoreState(body: Json, origin: string): boolean {
  const input: Json[] = Array.isArray(body?.input) ? body.input : [];
  if (!input.some((item) => unwrap(item?.encrypted_content))) return false;
  const kept: Json[] = [];
  const restored = new Set<Json>();
  let isOrphan = false;
  for (const [index, item] of input.entries()) {
    const state = unwrap(item?.encrypted_content);
    if (state && state.origin !== origin) {
      if (item.type !== 'reasoning') throw foreignHistory(index);
      isOrphan = true;
      continue;
    }
    if (state) restored.add(item);
    if (state?.value === '') delete item.encrypted_content;
    else if (state) item.encrypted_content = state.value;
    else if (isOrphan && isOfModel(item)) delete item.id;
    else isOrphan = false;
    kept.push(item);
  }
  body.input = withoutUnfinished(kept, restored);
  return true;
}

/** Without those of `restored` reasoning that nothing of the model follows, but for more reasoning. */
function withoutUnfinished(items: readonly Json[], restored: ReadonlySet<Json>): Json[] {
  const kept: Json[] = [];
  let leadsOn = false;
  for (const item of items.toReversed()) {
    if (item?.type !== 'reasoning') leadsOn = isObject(item) && !isOfClient(item);
    else if (!leadsOn && restored.has(item)) continue;
    kept.push(item);
  }
  return kept.reverse();
}

function isOfClient({ role, type }: Json): boolean {
  return typeof role === 'string' ? role !== 'assistant' : String(type).endsWith('_output');
}

function foreignHistory(index: number): GatewayError {
  const param = `input[${index}].encrypted_content`;
  return new GatewayError('unsupported_parameter', `${param} can only be read by the provider that made it.`, {
    param,
  });
}
