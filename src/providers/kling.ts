/** Kling. A key is sent as it is; a pair of keys, `<access key>:<secret key>`, signs a token for every request. */

import { createHmac } from 'node:crypto';
import { videoServer } from './type.ts';
import { kling as video } from './videos/kling.ts';

/** Seconds that a token is valid, and seconds that the server's clock may be behind ours. */
const LIFETIME = 1800;
const SKEW = 5;

/** A JSON Web Token, signed with HMAC-SHA256. `now` in milliseconds. */
export function signedToken(pair: string, now: number): string {
  const [access = '', ...rest] = pair.split(':');
  const seconds = Math.floor(now / 1000);
  const claims = { iss: access, exp: seconds + LIFETIME, nbf: seconds - SKEW };
  const payload = [{ alg: 'HS256', typ: 'JWT' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${payload}.${createHmac('sha256', rest.join(':')).update(payload).digest('base64url')}`;
}

export const kling = videoServer({
  id: 'kling',
  name: 'Kling AI',
  environment: ['KLING_API_KEY'],
  baseUrl: 'https://api-singapore.klingai.com',
  version: /\/v1$/,
  credential: (key) => ({ authorization: `Bearer ${key.includes(':') ? signedToken(key, Date.now()) : key}` }),
  video,
});
