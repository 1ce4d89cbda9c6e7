/** Bearer tokens of `Authorization` headers. */

const BEARER_PATTERN = /^bearer\s+(\S+)\s*$/i;

/** Undefined for a missing header and for another authentication scheme. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return BEARER_PATTERN.exec(authorization ?? '')?.[1];
}
