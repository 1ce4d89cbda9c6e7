/** One-time login codes: the store keeps a digest, so that a code opens one session and cannot be read back. */

import { createHash, randomBytes } from 'node:crypto';
import type { Author } from '../../store/audit-rows.ts';
import type { Store } from '../../store/store.ts';
import type { Role } from './roles.ts';

export interface CreatedLoginCode {
  code: string;
  /** Unix milliseconds. */
  expiresAt: number;
}

const SECRET_BYTES = 32;
const LIFETIME_MS = 15 * 60 * 1000;

/** Creates a code that is valid for 15 minutes; `now` in Unix milliseconds. */
export async function createLoginCode(
  store: Pick<Store, 'call'>,
  { role, author, now }: { role: Exclude<Role, 'key'>; author: Author; now: number },
): Promise<CreatedLoginCode> {
  const code = newSecret();
  const expiresAt = now + LIFETIME_MS;
  await store.call('addLoginCode', { digest: digestOfSecret(code), role, author, now, expiresAt });
  return { code, expiresAt };
}

/** URL that opens a session with a one-time code, which stands in the fragment so that no server logs it. */
export function loginUrl(base: string, code: string, page = ''): string {
  return `${base}/ui${page}#code=${code}`;
}

/** Random text of 256 bits in base64url. */
export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/** The texts are long and random, so that a fast hash suffices. */
export function digestOfSecret(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
