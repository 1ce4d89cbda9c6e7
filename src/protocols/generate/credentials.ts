/** API keys of generateContent clients. */

import { bearerToken, type Fields } from '../../core/fields.ts';

/** Presented keys: headers, then query parameters, then the bearer token. */
export function credentials(headers: Fields, query: URLSearchParams): string[] {
  const bearer = bearerToken(text(headers.authorization));
  const keys = [headers['x-goog-api-key'], headers['x-gen-api-key'], ...query.getAll('key')].map(text);
  return [...keys, bearer].filter((key) => key !== undefined);
}

function text(value: string | undefined): string | undefined {
  return value?.trim() || undefined;
}
