/** Kling. A key is sent as a bearer token; a key pair, `<access key>:<secret key>`, signs a JSON Web Token for each request. */

import { createHmac } from 'node:crypto';
import { type KeyPair, keyCredential } from '../core/credential.ts';
import { bearer } from './platform/headers.ts';
import { videoServer } from './type.ts';
import { kling as video } from './videos/kling.ts';

/** Lifetime of a token, and tolerated lag of the server's clock. */
const TOKEN_LIFETIME_SECONDS = 1800;
const CLOCK_SKEW_SECONDS = 5;

/** JSON Web Token, signed with HMAC-SHA256. `now` in Unix milliseconds. */
export function signedToken({ id, secret }: KeyPair, now: number): string {
  const seconds = Math.floor(now / 1000);
  const claims = { iss: id, exp: seconds + TOKEN_LIFETIME_SECONDS, nbf: seconds - CLOCK_SKEW_SECONDS };
  const payload = [{ alg: 'HS256', typ: 'JWT' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${payload}.${createHmac('sha256', secret).update(payload).digest('base64url')}`;
}

export const kling = videoServer({
  id: 'kling',
  name: 'Kling AI',
  environment: ['KLING_API_KEY'],
  baseUrl: 'https://api-singapore.klingai.com',
  version: /\/v1$/,
  readKey(text) {
    const colon = text.indexOf(':');
    if (colon < 0) return keyCredential(text);
    return { type: 'key-pair', id: text.slice(0, colon), secret: text.slice(colon + 1) };
  },
  keyPair: (pair, now) => bearer(signedToken(pair, now)),
  video,
});
