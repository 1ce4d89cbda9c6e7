/** IP addresses and CIDR ranges, compared by bytes, not by text. */

import { GatewayError } from '../core/errors.ts';

/** Four bytes (IPv4) or sixteen (IPv6), in network order. */
export type Address = Uint8Array;

export interface Range {
  start: Address;
  /** Prefix length. */
  bits: number;
}

const IPV6_BYTES = 16;

/** Parses a canonical dotted quad or any notation of IPv6; undefined for anything else, including zone ids. */
export function parseAddress(text: string): Address | undefined {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

/** Parses `10.0.0.0/8`, `fd00::/8`, or one address. Throws `invalid_request` for anything else. */
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

/** Whether the range has the address; an IPv4 range has no IPv6 address. */
export function contains({ start, bits }: Range, address: Address): boolean {
  if (start.length !== address.length) return false;
  const whole = bits >> 3;
  for (let index = 0; index < whole; index++) {
    if (start[index] !== address[index]) return false;
  }
  const rest = bits & 7;
  return rest === 0 || ((start[whole] ?? 0) ^ (address[whole] ?? 0)) >> (8 - rest) === 0;
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
  const head = parseGroups(left, right === undefined);
  const tail = parseGroups(right ?? '', true);
  if (!head || !tail) return undefined;
  const missing = IPV6_BYTES - head.length - tail.length;
  if (right === undefined ? missing !== 0 : missing < 2) return undefined;
  return Uint8Array.from([...head, ...new Array(missing).fill(0), ...tail]);
}

/** Bytes of colon-separated groups; at the end of the address the last one may be a dotted quad. */
function parseGroups(text: string, isEnd: boolean): number[] | undefined {
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
