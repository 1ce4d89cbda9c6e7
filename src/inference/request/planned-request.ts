/** Planned request: the body for one endpoint, and the data needed to read its response. */

import type { ChatRequest, Finish, OpenPart } from '../../core/chat.ts';
import type { Target } from '../../core/operation.ts';
import type { OutgoingBody } from '../../core/platform.ts';
import type { UpstreamOperation, UpstreamProtocol } from '../../core/protocol.ts';
import type { RequestPath } from '../../routing/attempt.ts';
import type { ClientToolNames } from './tool-names.ts';

export interface Plan {
  /** `translated` unless the upstream speaks the client's protocol. */
  path: RequestPath;
  upstream: UpstreamProtocol;
  /** The upstream protocol; the client's on passthrough and patched paths. */
  operation: UpstreamOperation;
  target: Target;
  body: OutgoingBody;
  /** Dropped fields, with the client's names. */
  dropped: string[];
  /** Reason for a second attempt at the endpoint, or for another protocol than the usual one. */
  note?: string;
  /** The decoded request, for a translated request. */
  request?: ChatRequest;
  toolNames?: ClientToolNames;
  /** The upstream was asked for an object around the answer. */
  wrapsAnswer?: boolean;
  /** Builds the upstream body that continues a paused response, of which the output tokens so far are counted; for a translated request. */
  continueWith?(parts: OpenPart[], finish: Finish, counted: number): Buffer;
}
