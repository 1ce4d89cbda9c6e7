/** Provider state in a response, kept for the next turn of the conversation. */

import type { OpenPart } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';
import type { ResponseContext } from './context.ts';

/** Stores state that the client may not return with its next turn. */
export function rememberState({ call, planned, memory }: ResponseContext, parts: readonly OpenPart[]): void {
  memory.remember(call.owner, planned.target.origin, parts);
}

/** Records the owner of the state in a relayed response, or in a frame of it. */
export function learnState({ planned, memory }: ResponseContext, body: Json): void {
  memory.recordOwner(body, planned.upstream.operations.complete, planned.target.origin);
}
