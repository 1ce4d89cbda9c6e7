/** Thought signatures: state of a part that must be returned on the same part. */

import type { Opaque } from '../../core/chat.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { unwrap } from '../../core/opaque.ts';
import { list } from './spelling.ts';

/** Placeholder that Google accepts instead of a missing signature or one of another model. */
export const NO_SIGNATURE = 'skip_thought_signature_validator';

/** State returned by a client: wrapped by the gateway, or a raw signature of an unknown owner. */
export function decodeState(part: Json): Opaque | undefined {
  const { thoughtSignature } = part;
  if (typeof thoughtSignature !== 'string' || thoughtSignature === '' || thoughtSignature === NO_SIGNATURE) {
    return undefined;
  }
  return unwrap(thoughtSignature) ?? { kind: 'signature', value: thoughtSignature };
}

/**
 * Unwraps the provider's own signatures in a relayed body. Other signatures are removed, with the thought
 * that they sign; a call requires a signature, so it gets the placeholder.
 */
export function restoreState(body: Json, origin: string): boolean {
  let changed = false;
  for (const content of list((body.generateContentRequest ?? body.generate_content_request ?? body)?.contents)) {
    if (!Array.isArray(content?.parts)) continue;
    const parts = content.parts.filter((part: Json) => {
      const outcome = restorePart(part, origin);
      if (outcome !== 'same') changed = true;
      return outcome !== 'gone';
    });
    content.parts = parts.length > 0 ? parts : [{ text: '' }];
  }
  return changed;
}

function restorePart(part: Json, origin: string): 'same' | 'restored' | 'gone' {
  if (!isObject(part)) return 'same';
  const name = 'thought_signature' in part ? 'thought_signature' : 'thoughtSignature';
  const state = unwrap(part[name]);
  if (!state) return 'same';
  if (state.origin === origin) part[name] = state.value;
  else if (part.functionCall || part.function_call) part[name] = NO_SIGNATURE;
  else if (part.thought === true || part.text === '') return 'gone';
  else delete part[name];
  return 'restored';
}
