/** Reason for which a command did not reach an address, for the operator. */

/** OpenSSL's words for an answer that is not TLS; those around them have line breaks and addresses of memory. */
const NOT_TLS = ':wrong version number:';

/** One line about the failure of a request, without the address. */
export function unreachedReason(error: unknown): string {
  const { message, cause } = error as Error & { cause?: Error };
  const reason = cause?.message || message || 'it is not reached';
  return reason.includes(NOT_TLS) ? 'it speaks http, not https' : reason;
}
