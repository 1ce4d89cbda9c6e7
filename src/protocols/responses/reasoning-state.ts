/** Encrypted reasoning of the Responses protocol in the hub: its item id goes with it, because servers pair both. */

import type { Opaque } from '../../core/chat.ts';
import { type Json, parseObject } from '../../core/json/json.ts';

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
