/** What a key may be used for, and from where. What is not allowed is refused. */

import { GatewayError } from '../core/errors.ts';
import { type Address, contains, parseAddress, parseRange } from '../net/ip-address.ts';
import type { KeySettings } from '../records/key-settings.ts';

/** What somebody is about to do with a key. */
export interface Access {
  /** One of `SURFACES`; absent for what every key may see, such as its own use. */
  surface?: string;
  /** Whether it starts, changes or ends something. */
  changes: boolean;
  /** Of the client; empty where it cannot be known. */
  address: string;
}

/** Throws `permission_denied` in words for whoever uses the key. */
export function checkAccess({ surfaces, readOnly, cidrs }: KeySettings, { surface, changes, address }: Access): void {
  if (cidrs && !isWithin(cidrs, address)) throw denied('This key may not be used from this address.');
  if (surface !== undefined && surfaces && !surfaces.some((allowed) => allowed === surface)) {
    throw denied(`This key may not use ${surface}; it may use ${surfaces.join(', ') || 'nothing'}.`);
  }
  if (readOnly && changes) {
    throw denied('This key is read-only: it may look at its own use and tasks, and start or change nothing.');
  }
}

/** The bytes of an address; those of IPv4 where an IPv6 socket shows one. */
export function parseClientAddress(text: string): Address | undefined {
  return parseAddress(text.replace(/^::ffff:(?=[\d.]+$)/i, ''));
}

export function isWithin(ranges: readonly string[], text: string): boolean {
  const address = parseClientAddress(text);
  return address !== undefined && ranges.some((range) => contains(parseRange(range), address));
}

function denied(message: string): GatewayError {
  return new GatewayError('permission_denied', message);
}
