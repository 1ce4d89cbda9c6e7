/** Provider state in a client's body that is relayed to an upstream of the same protocol. */

import { isObject, type Json } from '../../core/json/json.ts';
import { unwrap } from '../../core/opaque.ts';

/**
 * Unwraps state of `origin` and removes other state with the thinking it signs, in place. Returns
 * whether the body changed.
 */
export function restoreState(body: Json, origin: string): boolean {
  let changed = false;
  const emptied = new Set<Json>();
  const messages: Json[] = Array.isArray(body?.messages) ? body.messages : [];
  for (const message of messages) {
    if (!isObject(message) || !Array.isArray(message.content)) continue;
    const content = message.content.map((block: Json) => restored(block, origin));
    if (content.every((block: Json, index: number) => block === message.content[index])) continue;
    changed = true;
    message.content = content.filter((block: Json) => block !== undefined);
    if (message.content.length === 0) emptied.add(message);
  }
  if (emptied.size > 0) body.messages = messages.filter((message) => !emptied.has(message));
  return changed;
}

function restored(block: Json, origin: string): Json {
  if (isUnsigned(block)) return undefined;
  const state = unwrap(block?.type === 'thinking' ? block.signature : block?.data);
  if (!state) return block;
  if (state.origin !== origin) return undefined;
  if (state.kind !== 'signature') return { type: 'redacted_thinking', data: state.value };
  return { type: 'thinking', thinking: block.thinking ?? '', signature: state.value };
}

/** Unsigned reasoning of another provider, which signing providers would refuse. */
function isUnsigned(block: Json): boolean {
  return block?.type === 'thinking' && block.signature === '';
}
