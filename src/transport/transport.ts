/** Transport interface: how a request reaches its upstream, over the network or inside the gateway. */

import type { OutgoingBody } from '../core/platform.ts';

export interface TransportRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Absolute; a local upstream uses only its path. */
  url: string;
  headers: Record<string, string>;
  body?: OutgoingBody;
}

/** A request on the network or at a local upstream. */
export interface Transport {
  /** Stops reading from the upstream until `resume`. */
  pause(): void;
  resume(): void;
  abort(): void;
}

/** Headers after the body; undefined or empty without any. */
export type Trailers = Readonly<Record<string, string | string[] | undefined>> | undefined;

export interface TransportEvents {
  /** `isReused`: over a connection that was kept alive; undefined without a connection. */
  sent(isReused?: boolean): void;
  head(status: number, headers: Record<string, string | undefined>): void;
  /** The chunk is lent until this returns. */
  data(chunk: Buffer): void;
  end(trailers?: Trailers): void;
  /** `hasExpired`: its server closed a kept connection as the request came, and may not have handled it. */
  fail(cause: unknown, hasExpired?: boolean): void;
}
