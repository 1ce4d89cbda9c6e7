/**
 * Verification of signature headers, apart from HMAC itself: receivers in Node use it through `verify.ts`, the check in the
 * browser through `signature-check.ts`. Depends on nothing.
 */

/** `Headers` of fetch, or the headers of a request in Node. */
export type HeaderSource = { get(name: string): string | null } | Record<string, string | string[] | undefined>;

/** HMAC-SHA256 of the body, keyed with the secret as displayed, in base64url without padding. */
export const SIGNATURE_HEADER = 'x-service-signature';

/** Undefined for a header that is missing or that came several times. */
export function headerOf(headers: HeaderSource, name: string): string | undefined {
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined;
  const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? [];
  return typeof value === 'string' ? value : undefined;
}

/** Whether a header is one of the signatures. Compares with all, so that timing does not reveal which one matched. */
export function matchesAny(given: string | undefined, signatures: readonly string[]): boolean {
  return signatures.filter((signature) => isEqual(given ?? '', signature)).length > 0;
}

/** Compares two texts in a time that depends only on their lengths. */
function isEqual(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let index = 0; index < one.length; index++) difference |= one.charCodeAt(index) ^ other.charCodeAt(index);
  return difference === 0;
}

/** Base64url without padding. */
export function encodeSignature(digest: Uint8Array): string {
  return btoa(String.fromCharCode(...digest))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/={1,2}$/, '');
}
