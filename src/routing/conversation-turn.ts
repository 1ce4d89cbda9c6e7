/** Conversation turn: the part of a call in a stored conversation, whose items its answer is appended to. */

import type { Json } from '../core/json/json.ts';

export interface ConversationTurn {
  /** Id of the conversation. */
  readonly id: string;
  /** Names the turn as the one that holds the conversation. */
  readonly holder: string;
  /** Items of the request itself, which are appended with the answer. */
  readonly input: readonly Json[];
  /** The items could not be appended. */
  isLost: boolean;
  /** Settles when the answer was stored or could not be; the conversation is held until then. */
  keeping: Promise<unknown> | undefined;
  /** Releases the conversation when the answer was stored or could not be. */
  close(): void;
}
