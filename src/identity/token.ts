/** Access tokens: their answers, and the headers that carry them. */

import type { Json } from '../core/json/json.ts';
import { inHeaders, textMember, unavailable } from './ask.ts';
import type { IssuedCredential } from './source.ts';

/** An access token as a header, with the headers that belong to it. */
export function bearerToken(token: string, expiresAt: number, more: Record<string, string> = {}): IssuedCredential {
  return { value: { type: 'headers', headers: inHeaders({ authorization: `Bearer ${token}`, ...more }) }, expiresAt };
}

/** The token of an answer of OAuth, whose lifetime is a number or a text. */
export function tokenOf(body: Json, server: string, now: number): { token: string; expiresAt: number } {
  const life = Number(body.expires_in);
  if (!Number.isFinite(life) || life <= 0) throw unavailable(`the answer of ${server} has no lifetime`);
  return { token: textMember(body, 'access_token', server), expiresAt: now + life * 1000 };
}

/** Text of a form, without the members that are undefined. */
export function formText(members: Record<string, string | undefined>): string {
  const given = Object.entries(members).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new URLSearchParams(given).toString();
}

export const FORM_HEADERS = { 'content-type': 'application/x-www-form-urlencoded' };
