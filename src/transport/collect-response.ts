/** Response collector: receives a whole response of an upstream in memory, up to a limit. */

import { ByteCollector } from '../core/byte-collector.ts';
import type { GatewayError } from '../core/errors.ts';
import type { UpstreamReceiver } from './upstream-client.ts';

export interface ResponseHead {
  status: number;
  headers: Record<string, string | undefined>;
}

export interface CollectedResponse extends ResponseHead {
  body: Buffer;
}

export interface CollectorOptions {
  /** Whether a body of `size` bytes may be held. */
  accepts(size: number): boolean;
  onResponse(response: CollectedResponse): void;
  /** Called instead of `onResponse` for a body that `accepts` refuses; the caller aborts the request. */
  onTooLarge(head: ResponseHead): void;
  /** `sent` is false for a request that did not reach the upstream. */
  onFailure(error: GatewayError, sent: boolean): void;
}

export function collectResponse({ accepts, onResponse, onTooLarge, onFailure }: CollectorOptions): UpstreamReceiver {
  const collector = new ByteCollector();
  let head: ResponseHead = { status: 0, headers: {} };
  let sent = false;
  return {
    sent() {
      sent = true;
    },
    unsent() {
      sent = false;
    },
    head(status, headers) {
      head = { status, headers };
    },
    data(chunk) {
      if (accepts(collector.size + chunk.length)) collector.addCopy(chunk);
      else onTooLarge(head);
    },
    end: () => onResponse({ ...head, body: collector.take() }),
    fail: (error) => onFailure(error, sent),
  };
}
