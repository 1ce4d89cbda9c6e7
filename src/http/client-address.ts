/** Client address: the socket's, or the one that a trusted proxy reports. */

import type { Fields } from '../core/fields.ts';
import { ownText } from '../core/own-bytes.ts';
import { isWithin, parseClientAddress } from '../keys/scopes.ts';

interface Arrival {
  socket: { remoteAddress?: string };
  headers: Fields;
}

/** Empty if unknown. */
export type ClientAddress = (arrival: Arrival) => string;

/** Reads `X-Forwarded-For` from its end, as long as the sender of an entry is a trusted proxy. */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  return ({ socket, headers }) => {
    let client = socket.remoteAddress ?? '';
    for (const hop of hopsOf(headers).toReversed()) {
      if (!isWithin(trustedProxies, client)) return client;
      client = parseClientAddress(hop) ? ownText(hop) : '';
    }
    return client;
  };
}

/** Some proxies append a port to the address. */
function hopsOf(headers: Fields): string[] {
  const text = headers['x-forwarded-for'];
  if (!text) return [];
  return text.split(',').map((hop) => hop.trim().replace(/^\[(.*)\](:\d+)?$|^([\d.]+):\d+$/, '$1$3'));
}

/** Prefix of an IPv6 address that identifies a client's network. */
const IPV6_NETWORK_BYTES = 8;

/** Name by which a client is counted: its address, or the network of an IPv6 address, all of whose addresses one client may use. */
export function networkOf(address: string): string {
  const bytes = parseClientAddress(address);
  if (!bytes || bytes.length === 4) return address;
  return Buffer.from(bytes.slice(0, IPV6_NETWORK_BYTES)).toString('hex');
}
