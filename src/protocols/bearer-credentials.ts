/** API keys of clients made for OpenAI. */

import { bearerToken } from '../core/bearer.ts';
import type { Fields } from '../core/fields.ts';

/** `Authorization: Bearer`, or the `api-key` of clients made for Azure. */
export function credentials(headers: Fields): string[] {
  const bearer = bearerToken(single(headers.authorization));
  return [bearer, single(headers['api-key'])].filter((key) => key !== undefined);
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
