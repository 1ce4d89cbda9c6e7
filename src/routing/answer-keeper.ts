/** Answer keeper: stores the answer of a call, so that later requests may name it. */

import type { Json } from '../core/json/json.ts';
import type { FinishedItem, HiddenState } from '../core/stored-access.ts';
import type { ConversationTurn } from './conversation-turn.ts';
import type { Endpoint } from './endpoint.ts';

export interface AnswerKeeper {
  /** Whether the response itself is stored, not only its items in a conversation. */
  readonly isStored: boolean;
  /** Resolves when the answer is durable; false if it could not be stored. Never rejects. */
  keep(answer: KeptAnswer): Promise<boolean>;
}

export interface KeptAnswer {
  /** The response object as the client gets it. */
  response: Json;
  /** Id of the response at the beginning of a relayed stream, which may be another. */
  firstId?: string | undefined;
  /** Finished items of a relayed stream, whose ids may be others. */
  finished: readonly FinishedItem[];
  /** State that the response object does not show. */
  hidden: readonly HiddenState[];
  endpoint: Endpoint;
  /** Owner of its opaque state. */
  origin: string;
  /** The upstream's own bytes. */
  isRelayed: boolean;
  turn?: ConversationTurn | undefined;
}
