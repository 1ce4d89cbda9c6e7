/** Which IP addresses belong to the public internet, decided on their bytes and never on their spelling. */

import { GatewayError } from '../core/errors.ts';

/** Four bytes (IPv4) or sixteen (IPv6), in network order. */
export type Address = Uint8Array;

export interface Range {
  start: Address;
  /** How many leading bits of `start` count. */
  bits: number;
}

const IPV4 = 4;
const IPV6 = 16;

/** The bytes of a canonical dotted quad or of any spelling of IPv6; undefined for all else, zone ids included. */
export function parseAddress(text: string): Address | undefined {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

/** `10.0.0.0/8`, `fd00::/8`, or one address. Throws `invalid_request` for anything else. */
export function parseRange(text: string): Range {
  const [address = '', length, ...more] = text.split('/');
  const start = parseAddress(address);
  const bits = length === undefined ? (start?.length ?? 0) * 8 : Number(length);
  const wellFormed = more.length === 0 && (length === undefined || /^\d{1,3}$/.test(length));
  if (!start || !wellFormed || bits > start.length * 8) {
    throw new GatewayError('invalid_request', `"${text}" is not an address range such as 10.0.0.0/8 or fd00::/8.`);
  }
  return { start, bits };
}

export function isRange(text: string): boolean {
  try {
    parseRange(text);
    return true;
  } catch {
    return false;
  }
}

export function contains({ start, bits }: Range, address: Address): boolean {
  if (start.length !== address.length) return false;
  const whole = bits >> 3;
  for (let index = 0; index < whole; index++) {
    if (start[index] !== address[index]) return false;
  }
  const rest = bits & 7;
  return rest === 0 || ((start[whole] ?? 0) ^ (address[whole] ?? 0)) >> (8 - rest) === 0;
}

export function sameAddress(one: Address, other: Address): boolean {
  return contains({ start: one, bits: one.length * 8 }, other);
}

/** Not globally reachable by the IANA special-purpose registry, or an address of a cloud's own services. */
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
 * What may be public in IPv6. All that lies outside falls at once: loopback, IPv4-mapped, -compatible and -translated
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

/** Whether an address belongs to the public internet; one that carries an IPv4 address is judged by that too. */
export function isPublic(address: Address): boolean {
  if (address.length === IPV4) return !SPECIAL_IPV4.some((range) => contains(range, address));
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
  return address.subarray(IPV6 - IPV4);
}

function parseIpv4(text: string): Address | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255))
    return undefined;
  return Uint8Array.from(parts, Number);
}

function parseIpv6(text: string): Address | undefined {
  const [left = '', right, ...more] = text.split('::');
  if (more.length > 0) return undefined;
  const head = groups(left, right === undefined);
  const tail = groups(right ?? '', true);
  if (!head || !tail) return undefined;
  const missing = IPV6 - head.length - tail.length;
  if (right === undefined ? missing !== 0 : missing < 2) return undefined;
  return Uint8Array.from([...head, ...new Array(missing).fill(0), ...tail]);
}

/** The bytes of groups between colons, of which the last may be a dotted quad where the address ends. */
function groups(text: string, isEnd: boolean): number[] | undefined {
  if (text === '') return [];
  const bytes: number[] = [];
  const parts = text.split(':');
  for (const [index, part] of parts.entries()) {
    const quad = isEnd && index === parts.length - 1 && part.includes('.') ? parseIpv4(part) : undefined;
    if (quad) bytes.push(...quad);
    else if (/^[0-9a-f]{1,4}$/i.test(part)) bytes.push(Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255);
    else return undefined;
  }
  return bytes;
}
