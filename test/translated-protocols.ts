/** The protocols between which requests are translated, by direction. */

import type { Protocol } from '../src/core/protocol.ts';
import { protocols } from '../src/protocols/index.ts';

/** Protocols in both directions. */
export const translatedProtocols: readonly Protocol[] = protocols.filter(({ id }) => id !== 'responses');

/** Protocols of clients: their requests are decoded, and answers encoded for them. Requests of Responses are relayed only. */
export const clientProtocols: readonly Protocol[] = translatedProtocols;

/** Protocols of upstreams: requests are encoded for them, and their answers decoded. */
export const upstreamProtocols: readonly Protocol[] = protocols;
