/** Provider state in a client's body that is relayed to an upstream of the same protocol. */

import { isObject, type Json } from '../../core/json/json.ts';
import { unwrap } from '../../core/opaque.ts';

/**
 * Gives state of `origin` back in its own form and takes everyone else's out with the thinking it signs, in place. True
 * when something changed.
 */
export function restoreState(body: Json, origin: string): boolean {
  let changed = false;
  const messages: Json[] = Array.isArray(body?.messages) ? body.messages : [];
  for (const message of messages) {
    if (!isObject(message) || !Array.isArray(message.content)) continue;
    const content = message.content.map((block: Json) => restored(block, origin));
    if (content.every((block: Json, index: number) => block === message.content[index])) continue;
    changed = true;
    message.content = content.filter((block: Json) => block !== undefined);
  }
  if (changed) body.messages = messages.filter((message) => message?.content?.length !== 0);
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

/** Reasoning that came from a provider without signatures; those who sign would refuse it. */
function isUnsigned(block: Json): boolean {
  return block?.type === 'thinking' && block.signature === '';
}
