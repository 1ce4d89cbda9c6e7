/** Planned request: the body for one endpoint, and how its answer is to be read. */

import type { ChatRequest, Finish, OpenPart } from '../../core/chat.ts';
import type { Operation, Target } from '../../core/operation.ts';
import type { Protocol } from '../../core/protocol.ts';
import type { RequestPath } from '../../routing/attempt.ts';

export interface Plan {
  path: RequestPath;
  upstream: Protocol;
  /** The upstream's, which is the client's where both speak one protocol. */
  operation: Operation;
  target: Target;
  body: Buffer;
  /** What the target can't carry, in the client's spelling. */
  dropped: string[];
  /** The decoded request, for a translated request. */
  request?: ChatRequest;
  /** The client's names of tools that have another one upstream. */
  toolNames?: ReadonlyMap<string, string>;
  /** The upstream body that goes on with an answer that stopped only to be continued; for a translated request. */
  continueWith?(parts: OpenPart[], finish: Finish): Buffer;
}
