/** Validation of untrusted URLs by their text; resolved addresses are checked when connecting. */

import { GatewayError } from '../core/errors.ts';
import { MAX_ADDRESS_CHARACTERS } from '../core/lengths.ts';
import { type AddressPolicy, canonicalName, createAddressPolicy, PUBLIC_ONLY } from './address-policy.ts';
import { parseAddress } from './public-addresses.ts';

/** Suffixes of names that are private or reserved. */
const LOCAL_SUFFIXES = [
  'localhost',
  'localdomain',
  'local',
  'internal',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'home.arpa',
  'arpa',
  'onion',
  'alt',
  'svc',
  'cluster.local',
  'test',
  'example',
  'invalid',
];

/** Ports blocked by the WHATWG fetch standard, whose services could misread an HTTP request. */
const BLOCKED_PORTS = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

const LABEL_PATTERN = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * Returns the parsed URL without its fragment if its text is allowed. Throws `invalid_request`, whose message names the allowed form. Use
 * the returned URL: another parser may read the text differently.
 */
export function checkUrl(text: string, policy: AddressPolicy = PUBLIC_ONLY): URL {
  checkSpelling(text, policy);
  const url = URL.canParse(text) ? new URL(text) : refuse('this is not a valid URL');
  if (BLOCKED_PORTS.has(Number(url.port || '443'))) refuse(`port ${url.port} is not allowed`);
  checkHost(url, authorityOf(text), policy);
  url.hash = '';
  return url;
}

const PUBLIC_BY_ANY_SCHEME = createAddressPolicy({ allowHttp: true });

/** Whether a URL leads to the public internet by its text, with http or https. The addresses of a name are not looked up. */
export function isPublicUrl(text: string): boolean {
  try {
    checkUrl(text, PUBLIC_BY_ANY_SCHEME);
    return true;
  } catch {
    return false;
  }
}

/** Parsers differ in their leniency: text that two parsers could read differently is refused. */
function checkSpelling(text: string, policy: AddressPolicy): void {
  if (text.length > MAX_ADDRESS_CHARACTERS) refuse(`an address has at most ${MAX_ADDRESS_CHARACTERS} characters`);
  if (!/^https:\/\/[^/?#]/i.test(text) && !(policy.allowsHttp && /^http:\/\/[^/?#]/i.test(text))) {
    refuse(`only ${policy.allowsHttp ? 'http and https' : 'https'} addresses on the public internet are allowed`);
  }
  if (/[\0-\x20\x7f\\]/.test(text)) refuse('spaces, control characters and backslashes are not allowed in a URL');
  const authority = authorityOf(text);
  if (authority.includes('@')) refuse('user names and passwords are not allowed in a URL');
  if (!/^[\x21-\x7e]+$/.test(authority) || authority.includes('%')) {
    refuse('the host must be written in ASCII without percent-encoding (use the xn-- form of an international name)');
  }
}

function authorityOf(text: string): string {
  return text.replace(/^[^:]+:\/\//, '').replace(/[/?#].*$/s, '');
}

function checkHost(url: URL, authority: string, policy: AddressPolicy): void {
  const name = canonicalName(url.hostname);
  if (policy.deniesHost(name)) refusePrivateHost();
  const address = literalAddress(url);
  if (address) {
    const written = authority.replace(/:\d*$/, '').toLowerCase();
    if (written !== url.hostname) refuse('an IP address must be written in its usual form');
    if (!policy.allowsHost(name) && !policy.allowsAddress(address)) refusePrivateHost();
    return;
  }
  if (policy.allowsHost(name)) return;
  const labels = name.split('.');
  if (name.length > 253 || !labels.every((label) => LABEL_PATTERN.test(label))) refuse('this is not a valid host name');
  if (labels.length < 2 || LOCAL_SUFFIXES.some((suffix) => name === suffix || name.endsWith(`.${suffix}`)))
    refusePrivateHost();
  if (/^\d+$/.test(labels.at(-1) ?? '')) refuse('this is not a valid host name');
}

/** IP address literal of the URL, if any. */
export function literalAddress(url: URL): Uint8Array | undefined {
  return parseAddress(url.hostname.replace(/^\[|\]$/g, ''));
}

function refusePrivateHost(): never {
  refuse('only addresses on the public internet are allowed');
}

function refuse(message: string): never {
  throw new GatewayError('invalid_request', `${message}.`);
}
