/** Watcher of a call: sees each request to an upstream and its response, and changes neither. */

import type { OutgoingRequest } from '../core/platform.ts';
import type { UpstreamReceiver } from '../transport/upstream-client.ts';
import type { Attempt } from './attempt.ts';
import type { Endpoint } from './endpoint.ts';

export interface CallWatcher {
  /** Receiver that notes the response and passes it on. */
  follow(sending: WatchedSending, receiver: UpstreamReceiver): UpstreamReceiver;
}

export interface WatchedSending {
  attempt: Attempt;
  endpoint: Endpoint;
  /** Protocol id of the upstream. */
  protocol: string;
  request: OutgoingRequest;
  /** Headers before the request was authorized. */
  plainHeaders: Readonly<Record<string, string>>;
}
