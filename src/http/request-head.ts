/** Checks of a request's head that come before all others. */

import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../core/errors.ts';

/** Headers that decide rights may stand in a request only once: Node keeps the first of some and joins others. */
const CREDENTIALS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'x-gen-api-key'];
const OTHERS = [
  'anthropic-version',
  'msg-protocol-version',
  'content-type',
  'content-encoding',
  'content-length',
  'host',
  'idempotency-key',
  'x-polygate-provider',
];
const SINGLE = new Set([...CREDENTIALS, ...OTHERS]);

export type Head = Pick<IncomingMessage, 'rawHeaders' | 'headers' | 'httpVersion'>;

/**
 * Throws `invalid_api_key` or `invalid_request` for a single header that comes with two values; equal ones become one. Throws
 * `invalid_request` for a request without a host.
 */
export function checkHead({ rawHeaders, headers, httpVersion }: Head): void {
  if (headers.host === undefined && httpVersion !== '1.0') {
    throw new GatewayError('invalid_request', 'The header host is required.', { param: 'host' });
  }
  const values = new Map<string, string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = String(rawHeaders[index]).toLowerCase();
    if (!SINGLE.has(name)) continue;
    const value = String(rawHeaders[index + 1]);
    const earlier = values.get(name);
    if (earlier === undefined) values.set(name, value);
    else if (earlier !== value) throw repeated(name);
    else headers[name] = value;
  }
}

function repeated(name: string): GatewayError {
  if (!CREDENTIALS.includes(name)) {
    return new GatewayError('invalid_request', `The header ${name} comes with different values; send one.`, {
      param: name,
    });
  }
  return new GatewayError('invalid_api_key', `Several ${name} headers that differ are presented; send one.`);
}
