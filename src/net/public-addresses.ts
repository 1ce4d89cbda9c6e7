/** Classification of public IP addresses, by bytes, not by text. */

import { type Address, contains, parseRange } from './ip-address.ts';

export { type Address, contains, parseAddress, parseRange, type Range } from './ip-address.ts';

const IPV4_BYTES = 4;
const IPV6_BYTES = 16;

export function sameAddress(one: Address, other: Address): boolean {
  return contains({ start: one, bits: one.length * 8 }, other);
}

/** Ranges that are not globally reachable by the IANA special-purpose registry, or that belong to services of a cloud. */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT; metadata service of Alibaba
  '127.0.0.0/8',
  '168.63.129.16/32', // virtual host of Azure, inside public space
  '169.254.0.0/16', // link-local; metadata services of nearly all clouds
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments; metadata service of Oracle Classic
  '192.0.2.0/24',
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT relays
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16',
  '192.175.48.0/24', // AS112
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
].map(parseRange);

/**
 * Global unicast space of IPv6. It excludes loopback, IPv4-mapped, -compatible and -translated
 * addresses, local NAT64, discard-only, segment routing, unique local, link-local, site-local and multicast.
 */
const GLOBAL_UNICAST = parseRange('2000::/3');

const SPECIAL_IPV6 = [
  '2001::/23', // Teredo, benchmarking, ORCHID, anycast services
  '2001:db8::/32',
  '2002::/16', // 6to4
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
].map(parseRange);

const NAT64 = parseRange('64:ff9b::/96');

/** Whether an address is public; an embedded IPv4 address must be public too. */
export function isPublic(address: Address): boolean {
  if (address.length === IPV4_BYTES) return !SPECIAL_IPV4.some((range) => contains(range, address));
  if (contains(NAT64, address)) return isPublic(embeddedIpv4(address));
  if (!contains(GLOBAL_UNICAST, address) || SPECIAL_IPV6.some((range) => contains(range, address))) return false;
  return !isIsatap(address) || isPublic(embeddedIpv4(address));
}

/** Interface ids `0:5efe:a.b.c.d` and `200:5efe:a.b.c.d`. */
function isIsatap(address: Address): boolean {
  const [first, second, third, fourth] = address.subarray(8, 12);
  return (first === 0 || first === 2) && second === 0 && third === 0x5e && fourth === 0xfe;
}

function embeddedIpv4(address: Address): Address {
  return address.subarray(IPV6_BYTES - IPV4_BYTES);
}
