/** Address policy of outgoing requests. By default only https to the public internet, and never to this machine. */

import { networkInterfaces } from 'node:os';
import { type Address, contains, isPublic, parseAddress, parseRange, sameAddress } from './public-addresses.ts';

/** Exceptions of the operator, all empty by default. Allowed names outweigh all others, denied ranges outweigh allowed ones. */
export interface AddressPolicyOptions {
  /** Allowed ranges that are not public, e.g. `127.0.0.0/8` for local development. */
  allowCidrs?: readonly string[];
  /** Host names that are allowed regardless of their addresses, also through the hosts file. */
  allowHosts?: readonly string[];
  /** Denied public ranges, e.g. the NAT64 prefix of the own network. */
  denyCidrs?: readonly string[];
  /** Denied host names, those of this gateway: no setting of the operator, which is why `allowHosts` outweighs them. */
  denyHosts?: readonly string[];
  allowHttp?: boolean;
}

export interface AddressPolicy {
  readonly allowsHttp: boolean;
  /** Denied ranges come first, then allowed ones; otherwise only public addresses of other machines are allowed. */
  allowsAddress(address: Address): boolean;
  /** Whether the host name is allowed by name. Case and a trailing dot are ignored. */
  allowsHost(name: string): boolean;
  /** Whether the host name is denied and not allowed by name. */
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

/** A public address of this machine bypasses its firewall and could make the gateway call itself. */
function isThisMachine(address: Address): boolean {
  return Object.values(networkInterfaces()).some((list) =>
    list?.some((entry) => {
      const own = parseAddress(entry.address);
      return own !== undefined && sameAddress(own, address);
    }),
  );
}

/** Host name in lower case, without the trailing dot. */
export function canonicalName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
