/** Where outgoing requests may go. By default: to the public internet over https, and never back to this machine. */

import { networkInterfaces } from 'node:os';
import { type Address, contains, isPublic, parseAddress, parseRange, sameAddress } from './public-addresses.ts';

/** What an operator opens or closes; all empty by default. */
export interface AddressPolicyOptions {
  /** Ranges that may be reached although they are not public, e.g. `127.0.0.0/8` for local development. */
  allowCidrs?: readonly string[];
  /** Host names that may be reached whatever they resolve to, also through the hosts file. */
  allowHosts?: readonly string[];
  /** Ranges that are closed although they are public; a NAT64 prefix of one's own network belongs here. */
  denyCidrs?: readonly string[];
  /** Host names that are closed: those under which this gateway itself is reached. */
  denyHosts?: readonly string[];
  allowHttp?: boolean;
}

export interface AddressPolicy {
  readonly allowsHttp: boolean;
  allowsAddress(address: Address): boolean;
  allowsHost(name: string): boolean;
  deniesHost(name: string): boolean;
}

/** Throws `invalid_request` for a malformed range. */
export function createAddressPolicy(options: AddressPolicyOptions = {}): AddressPolicy {
  const allowed = (options.allowCidrs ?? []).map(parseRange);
  const denied = (options.denyCidrs ?? []).map(parseRange);
  const allowedHosts = new Set(options.allowHosts?.map(canonicalName));
  const deniedHosts = new Set(options.denyHosts?.map(canonicalName));

  return {
    allowsHttp: options.allowHttp ?? false,
    allowsHost: (name) => allowedHosts.has(canonicalName(name)),
    deniesHost: (name) => deniedHosts.has(canonicalName(name)) && !allowedHosts.has(canonicalName(name)),
    allowsAddress(address) {
      if (denied.some((range) => contains(range, address))) return false;
      if (allowed.some((range) => contains(range, address))) return true;
      return isPublic(address) && !isThisMachine(address);
    },
  };
}

export const PUBLIC_ONLY = createAddressPolicy();

/** A public address of this machine would lead past its firewall and make a request call itself. */
function isThisMachine(address: Address): boolean {
  return Object.values(networkInterfaces()).some((list) =>
    list?.some((entry) => {
      const own = parseAddress(entry.address);
      return own !== undefined && sameAddress(own, address);
    }),
  );
}

/** Lower case, without the dot of an absolute name. */
export function canonicalName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
