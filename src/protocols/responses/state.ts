/** Encrypted reasoning of the Responses protocol: in the hub, where its item id goes with it, because servers pair both; and wrapped in a relayed body. */

import type { Opaque } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json, parseObject } from '../../core/json/json.ts';
import { unwrap, wrap } from '../../core/opaque.ts';
import { isOfModel } from './continuation.ts';

/** Placeholder for reasoning without state. Clients that ask for state, such as the AI SDK, return only reasoning that has some. */
export const EMPTY_STATE = wrap({ kind: 'encrypted', value: '', origin: '' });

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

/** The state of a reasoning item; undefined if it has none. With text it is the signature of that text. */
export function stateOf({ id, encrypted_content }: Json, origin: string, hasText: boolean): Opaque | undefined {
  if (typeof encrypted_content !== 'string' || encrypted_content === '') return undefined;
  return { kind: hasText ? 'signature' : 'encrypted', value: JSON.stringify({ id, encrypted_content }), origin };
}

/** The members of the item; undefined for state in another form. */
export function itemOfState({ value }: Opaque): { id?: string; encrypted_content: string } | undefined {
  const { id, encrypted_content } = parseObject(value) ?? {};
  if (typeof encrypted_content !== 'string') return undefined;
  return { ...(typeof id === 'string' && { id }), encrypted_content };
}
