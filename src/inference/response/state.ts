/** Provider state in an answer: kept for the next turn of its conversation. */

import type { OpenPart } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';
import type { ResponseContext } from './context.ts';

/** Keeps what the client may fail to hand back with its next turn. */
export function rememberState({ call, planned, memory }: ResponseContext, parts: readonly OpenPart[]): void {
  memory.remember(call.owner, planned.target.origin, parts);
}

/** Notes whose state a relayed answer, or a frame of it, shows to the client. */
export function learnState({ planned, memory }: ResponseContext, body: Json): void {
  memory.recordOwner(body, planned.upstream.operations.complete, planned.target.origin);
}
