/** Authorities of TLS as guarded clients trust them. */

import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

/** Context of the latest call: loading all authorities takes longer than a handshake. */
let latest: { extraCa: string | undefined; context: SecureContext } | undefined;

/** The authorities of Node, with those of `extraCa` (PEM) if it is given. */
export function authoritiesWith(extraCa: string | undefined): SecureContext {
  if (!latest || latest.extraCa !== extraCa) {
    const ca = extraCa === undefined ? undefined : [...getCACertificates('default'), extraCa];
    latest = { extraCa, context: createSecureContext({ ...(ca && { ca }) }) };
  }
  return latest.context;
}
