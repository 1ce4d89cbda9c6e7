/** Cookie of a session. */

import type { Fields } from '../../core/fields.ts';
import type { Site } from './site.ts';

const NAME = 'polygate';
const MAX_AGE_S = 7 * 24 * 3600;

/** Value of the cookie; undefined without one. */
export function readCookie({ cookie = '' }: Fields, { isSecure }: Pick<Site, 'isSecure'>): string | undefined {
  const start = `${nameOf(isSecure)}=`;
  const found = cookie.split(';').find((part) => part.trimStart().startsWith(start));
  return found?.trim().slice(start.length) || undefined;
}

/** Whether a request may have the cookie of a session, over HTTP or HTTPS. */
export function hasCookie({ cookie }: Fields): boolean {
  return cookie?.includes(`${NAME}=`) ?? false;
}

/** Value of `set-cookie`; an empty one removes the cookie. */
export function encodeCookie(value: string, { isSecure }: Pick<Site, 'isSecure'>): string {
  const age = value === '' ? 0 : MAX_AGE_S;
  const secure = isSecure ? '; Secure' : '';
  return `${nameOf(isSecure)}=${value}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict${secure}`;
}

/** Browsers take a name with this prefix over TLS only, and for this host only. */
function nameOf(isSecure: boolean): string {
  return isSecure ? `__Host-${NAME}` : NAME;
}
