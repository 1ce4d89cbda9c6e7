/** API keys of clients made for OpenAI. */

import { bearerToken, type Fields } from '../core/fields.ts';

/** `Authorization: Bearer`, or the `api-key` of clients made for Azure. */
export function credentials(headers: Fields): string[] {
  const bearer = bearerToken(headers.authorization);
  return [bearer, headers['api-key']].filter((key) => key !== undefined);
}
