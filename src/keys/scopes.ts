/** Scopes of keys: surfaces, read-only access and client addresses. */

import { GatewayError } from '../core/errors.ts';
import { type Address, contains, parseAddress, parseRange } from '../net/ip-address.ts';
import type { KeySettings } from '../records/key-settings.ts';

/** Intended use of a key. */
export interface Access {
  /** Surface; absent for routes open to every key, such as its own usage. */
  surface?: string;
  /** Whether the request changes something. */
  changes: boolean;
  /** Client address; empty if unknown. */
  address: string;
}

/** Throws `permission_denied` with a message for the client. */
export function checkAccess({ surfaces, readOnly, cidrs }: KeySettings, { surface, changes, address }: Access): void {
  if (cidrs && !isWithin(cidrs, address)) throw denied('This key may not be used from this address.');
  if (surface !== undefined && surfaces && !surfaces.some((allowed) => allowed === surface)) {
    throw denied(`This key may not use ${surface}; it may use ${surfaces.join(', ') || 'nothing'}.`);
  }
  if (readOnly && changes) {
    throw denied('This key is read-only: it may look at its own use and tasks, and start or change nothing.');
  }
}

/** Bytes of an address; an IPv4-mapped IPv6 address becomes IPv4. */
export function parseClientAddress(text: string): Address | undefined {
  return parseAddress(text.replace(/^::ffff:(?=[\d.]+$)/i, ''));
}

/** Whether an IP address is in one of the ranges, such as `10.0.0.0/8`; false for a text that is not an address. */
export function isWithin(ranges: readonly string[], text: string): boolean {
  const address = parseClientAddress(text);
  return address !== undefined && ranges.some((range) => contains(parseRange(range), address));
}

function denied(message: string): GatewayError {
  return new GatewayError('permission_denied', message);
}
