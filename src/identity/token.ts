/** Access tokens: their answers, and the headers that carry them. */

import type { Json } from '../core/json/json.ts';
import { assertHeaderText, textMember, unavailable } from './ask.ts';
import type { IssuedCredential } from './source.ts';

interface AccessToken {
  token: string;
  /** Unix milliseconds. */
  expiresAt: number;
}

/** An access token as a header, with the headers that belong to it. `issuer`: its name in messages. */
export function bearerToken(
  { token, expiresAt }: AccessToken,
  issuer: string,
  more: Record<string, string> = {},
): IssuedCredential {
  assertHeaderText(token, `the access token of ${issuer}`);
  return { value: { type: 'headers', headers: { authorization: `Bearer ${token}`, ...more } }, expiresAt };
}

/** The token of an answer of OAuth, whose lifetime is a number or a text. */
export function tokenOf(body: Json, server: string, now: number): AccessToken {
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
