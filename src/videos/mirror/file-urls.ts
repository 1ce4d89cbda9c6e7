/** Signed URLs of mirrored videos: valid without an API key until they expire. */

import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../../core/errors.ts';

export interface FileUrlOptions {
  /** Secrets of 32 bytes: the first one signs, all verify. */
  secrets: readonly [Buffer, ...Buffer[]];
  /** Validity of a URL: 1 day by default, 7 days at most. */
  lifetimeMs?: number;
  /** Unix milliseconds. */
  now?(): number;
}

/** Unverified query parameters of a signed URL. */
export interface FileUrlQuery {
  exp?: string | undefined;
  kid?: string | undefined;
  sig?: string | undefined;
}

export interface FileUrls {
  /** `base`: public URL of the gateway without a trailing slash. Returns the same URL for an hour, so that it can be cached. */
  signFileUrl(base: string, taskId: string, index: number): string;
  /** Throws `invalid_signature` or `url_expired`. */
  checkFileUrl(taskId: string, index: number, query: FileUrlQuery): void;
}

interface SigningKey {
  id: string;
  bytes: Buffer;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
export const MAX_LIFETIME_MS = 7 * DAY_MS;

export function createFileUrls({ secrets, lifetimeMs = DAY_MS, now = Date.now }: FileUrlOptions): FileUrls {
  const [current, ...previous] = secrets;
  const signing = deriveKey(current);
  const keys = new Map([signing, ...previous.map(deriveKey)].map((key) => [key.id, key]));

  return {
    signFileUrl(base, taskId, index) {
      const exp = String(expiry(now(), lifetimeMs) / 1000);
      const query = new URLSearchParams({ exp, kid: signing.id, sig: signature(signing, taskId, index, exp) });
      return `${base}/v1/videos/${taskId}/files/${index}.mp4?${query}`;
    },
    checkFileUrl(taskId, index, { exp = '', kid = '', sig = '' }) {
      const key = keys.get(kid);
      if (!key || !isEqual(sig, signature(key, taskId, index, exp))) {
        throw new GatewayError('invalid_signature', 'The signature of this address is not valid.', { param: 'sig' });
      }
      if (Number(exp) * 1000 <= now()) {
        throw new GatewayError('url_expired', 'This address has expired; the task shows a new one.', { param: 'exp' });
      }
    },
  };
}

/** Unix milliseconds, rounded up to the hour. */
export function expiry(now: number, lifetime: number): number {
  return Math.ceil((now + Math.min(lifetime, MAX_LIFETIME_MS)) / HOUR_MS) * HOUR_MS;
}

/** Derives the key and its id from the secret alone, so the id does not depend on the order of the secrets. */
function deriveKey(secret: Buffer): SigningKey {
  const bytes = Buffer.from(hkdfSync('sha256', secret, '', 'polygate video file urls', 32));
  return { id: createHash('sha256').update(bytes).digest('base64url').slice(0, 8), bytes };
}

function signature(key: SigningKey, taskId: string, index: number, exp: string): string {
  return createHmac('sha256', key.bytes).update(`v1\n${taskId}\n${index}\n${exp}`).digest('base64url');
}

function isEqual(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
