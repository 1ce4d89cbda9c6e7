/** Who is at the other end: the address of the socket, or what a proxy of the operator's says of it. */

import type { IncomingHttpHeaders } from 'node:http';
import { isWithin, parseClientAddress } from '../keys/scopes.ts';

interface Arrival {
  socket: { remoteAddress?: string };
  headers: IncomingHttpHeaders;
}

/** Empty where it cannot be known. */
export type ClientAddress = (arrival: Arrival) => string;

/** `X-Forwarded-For` is read from its end, as long as who wrote an entry is a trusted proxy. */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  return ({ socket, headers }) => {
    let client = socket.remoteAddress ?? '';
    for (const hop of hopsOf(headers).toReversed()) {
      if (!isWithin(trustedProxies, client)) return client;
      client = parseClientAddress(hop) ? hop : '';
    }
    return client;
  };
}

/** Entries of some proxies have a port behind them. */
function hopsOf(headers: IncomingHttpHeaders): string[] {
  const text = [headers['x-forwarded-for'] ?? []].flat().join(',');
  if (text === '') return [];
  return text.split(',').map((hop) => hop.trim().replace(/^\[(.*)\](:\d+)?$|^([\d.]+):\d+$/, '$1$3'));
}
