/** Signed URLs of mirrored videos and pictures: valid without an API key until they expire. */

import { createHash, createHmac, hkdfSync } from 'node:crypto';
import { systemClock } from '../../core/clock.ts';
import { GatewayError } from '../../core/errors.ts';
import { expiry } from '../../net/s3-requests.ts';
import { isSameSecret } from '../../security/secret.ts';

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
  /** Signs the URL of a mirrored picture, like `signFileUrl`. */
  signPictureUrl(base: string, name: string): string;
  /** Throws `invalid_signature` or `url_expired`. */
  checkPictureUrl(name: string, query: FileUrlQuery): void;
}

interface SigningKey {
  id: string;
  bytes: Buffer;
}

const DAY_MS = 24 * 3_600_000;

export function createFileUrls({ secrets, lifetimeMs = DAY_MS, now = systemClock.now }: FileUrlOptions): FileUrls {
  const [current, ...previous] = secrets;
  const signing = deriveKey(current);
  const keys = new Map([signing, ...previous.map(deriveKey)].map((key) => [key.id, key]));

  function sign(subject: string): URLSearchParams {
    const exp = String(expiry(now(), lifetimeMs) / 1000);
    return new URLSearchParams({ exp, kid: signing.id, sig: signature(signing, subject, exp) });
  }

  function check(subject: string, { exp = '', kid = '', sig = '' }: FileUrlQuery, hint = ''): void {
    const key = keys.get(kid);
    if (!key || !isSameSecret(sig, signature(key, subject, exp))) {
      throw new GatewayError('invalid_signature', 'The signature of this address is not valid.', { param: 'sig' });
    }
    if (Number(exp) * 1000 <= now()) {
      throw new GatewayError('url_expired', `This address has expired${hint}.`, { param: 'exp' });
    }
  }

  return {
    signFileUrl: (base, taskId, index) =>
      `${base}/v1/videos/${taskId}/files/${index}.mp4?${sign(videoSubject(taskId, index))}`,
    checkFileUrl: (taskId, index, query) => check(videoSubject(taskId, index), query, '; the task shows a new one'),
    signPictureUrl: (base, name) => `${base}/v1/files/pictures/${name}?${sign(pictureSubject(name))}`,
    checkPictureUrl: (name, query) => check(pictureSubject(name), query),
  };
}

/** Derives the key and its id from the secret alone, so the id does not depend on the order of the secrets. */
function deriveKey(secret: Buffer): SigningKey {
  const bytes = Buffer.from(hkdfSync('sha256', secret, '', 'polygate video file urls', 32));
  return { id: createHash('sha256').update(bytes).digest('base64url').slice(0, 8), bytes };
}

function videoSubject(taskId: string, index: number): string {
  return `${taskId}\n${index}`;
}

/** Never that of a video: the second line of those is a number. */
function pictureSubject(name: string): string {
  return `pictures\n${name}`;
}

function signature(key: SigningKey, subject: string, exp: string): string {
  return createHmac('sha256', key.bytes).update(`v1\n${subject}\n${exp}`).digest('base64url');
}
