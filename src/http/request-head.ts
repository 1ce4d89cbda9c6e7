/** Request head check: the first check of every request. */

import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../core/errors.ts';

/** Headers that may have only one value in a request: of repeated ones Node keeps the first or joins them. */
const CREDENTIALS = [
  'authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-gen-api-key',
  'x-litellm-api-key',
  'x-portkey-api-key',
];
const OTHERS = [
  'anthropic-version',
  'msg-protocol-version',
  'content-type',
  'content-encoding',
  'content-length',
  'host',
  'idempotency-key',
  'x-polygate-provider',
  'x-portkey-provider',
];
const SINGLE = new Set([...CREDENTIALS, ...OTHERS]);

export type Head = Pick<IncomingMessage, 'rawHeaders' | 'headers' | 'httpVersion'>;

/**
 * Throws `invalid_api_key` or `invalid_request` if such a header has two different values; equal values become one. Throws
 * `invalid_request` for a request without `Host`.
 */
export function checkHead({ rawHeaders, headers, httpVersion }: Head): void {
  if (headers.host === undefined && httpVersion !== '1.0') {
    throw new GatewayError('invalid_request', 'The header host is required.', { param: 'host' });
  }
  if (Object.keys(headers).length * 2 === rawHeaders.length) return;
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
