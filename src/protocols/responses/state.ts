/** Wrapped state in a body relayed to an upstream of the Responses protocol. */

import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { unwrap } from '../../core/opaque.ts';
import { isOfModel } from './continuation.ts';

/**
 * Unwraps state of `origin` and removes reasoning of other origins, in place; returns whether the body changed. Items that
 * followed removed reasoning lose their id, which a server pairs with that of the reasoning. Throws for compacted history
 * of another origin, which cannot be removed.
 */
export function restoreState(body: Json, origin: string): boolean {
  const input: Json[] = Array.isArray(body?.input) ? body.input : [];
  if (!input.some((item) => unwrap(item?.encrypted_content))) return false;
  const kept: Json[] = [];
  let isOrphan = false;
  for (const [index, item] of input.entries()) {
    const state = unwrap(item?.encrypted_content);
    if (state && state.origin !== origin) {
      if (item.type !== 'reasoning') throw foreignHistory(index);
      isOrphan = true;
      continue;
    }
    if (state?.value === '') delete item.encrypted_content;
    else if (state) item.encrypted_content = state.value;
    else if (isOrphan && isOfModel(item)) delete item.id;
    else isOrphan = false;
    kept.push(item);
  }
  body.input = kept;
  return true;
}

function foreignHistory(index: number): GatewayError {
  const param = `input[${index}].encrypted_content`;
  return new GatewayError('unsupported_parameter', `${param} can only be read by the provider that made it.`, {
    param,
  });
}
