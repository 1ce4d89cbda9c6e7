/** API keys and version headers of messages clients. */

import { GatewayError } from '../../core/errors.ts';
import { bearerToken, type Fields } from '../../core/fields.ts';

const VERSIONS = ['2023-06-01', '2026-10-21'];
const VERSION_HEADERS = ['anthropic-version', 'msg-protocol-version'];

/** `x-api-key` and `Authorization: Bearer`. */
export function credentials(headers: Fields): string[] {
  const bearer = bearerToken(headers.authorization);
  return [headers['x-api-key']?.trim() || undefined, bearer].filter((key) => key !== undefined);
}

/** Throws `invalid_request` unless a version header names a known version. */
export function checkHeaders(headers: Fields): void {
  const name = VERSION_HEADERS.find((header) => headers[header] !== undefined);
  const version = name && headers[name]?.trim();
  if (version && VERSIONS.includes(version)) return;
  const problem = version ? `"${version}" is not a known version` : 'a version header is required';
  const allowed = `send anthropic-version (or msg-protocol-version) with ${VERSIONS.join(' or ')}`;
  throw new GatewayError('invalid_request', `${name ?? 'anthropic-version'}: ${problem}; ${allowed}.`, {
    param: name ?? 'anthropic-version',
  });
}
