/** Headers that a stored trace keeps, as JSON lists in ASCII: of the client's program, and of the upstream's response. */

import type { Fields } from '../core/fields.ts';
import type { Json } from '../core/json/json.ts';

/** Stored by their places: a new name goes to the end. The last one is that of a request which its client sends again. */
export const REQUEST_HEADERS =
  'user-agent anthropic-version anthropic-beta openai-beta x-goog-api-client x-stainless-retry-count'.split(' ');
const ANSWER_HEADERS = 'x-request-id request-id openai-processing-ms x-envoy-upstream-service-time'.split(' ');
/** Headers kept for refusals only: remaining limits would make every record longer. */
const REFUSAL_HEADERS =
  'retry-after x-ratelimit-remaining-requests x-ratelimit-remaining-tokens anthropic-ratelimit-requests-remaining anthropic-ratelimit-tokens-remaining';
/** Stored by their places: a new name goes to the end. */
export const RESPONSE_HEADERS = [...ANSWER_HEADERS, ...REFUSAL_HEADERS.split(' ')];
const MAX_VALUE_CHARACTERS = 120;
/** Characters that JSON escapes, or that no header should have. */
const UNUSUAL = /[^\x20\x21\x23-\x5b\x5d-\x7e]/;

type HeaderValue = string | string[] | undefined;

/** Names are constants here and below: to look for one out of a list takes several times as long. */
export function encodeRequestHeaders(headers: Fields): string | undefined {
  const retry = headers['x-stainless-retry-count'];
  return encodeValues([
    headers['user-agent'],
    headers['anthropic-version'],
    headers['anthropic-beta'],
    headers['openai-beta'],
    headers['x-goog-api-client'],
    retry === '0' ? undefined : retry,
  ]);
}

/** Headers of a response as an attempt keeps them. */
export function encodeResponseHeaders(
  status: number,
  headers: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (status >= 400) return encodeValues(RESPONSE_HEADERS.map((name) => headers[name]));
  return encodeValues([
    headers['x-request-id'],
    headers['request-id'],
    headers['openai-processing-ms'],
    headers['x-envoy-upstream-service-time'],
  ]);
}

/** JSON list in ASCII without absent values at its end; undefined without any. */
function encodeValues(values: readonly HeaderValue[]): string | undefined {
  let last = values.length - 1;
  while (last >= 0 && values[last] === undefined) last--;
  if (last < 0) return undefined;
  let list = '';
  for (let place = 0; place <= last; place++) list += `${place === 0 ? '[' : ','}${quoted(values[place])}`;
  return `${list}]`;
}

function quoted(value: HeaderValue): string {
  if (typeof value !== 'string') return 'null';
  if (value.length <= MAX_VALUE_CHARACTERS && !UNUSUAL.test(value)) return `"${value}"`;
  return JSON.stringify(value.slice(0, MAX_VALUE_CHARACTERS).replace(/[^\x20-\x7e]/g, '?'));
}

/** Headers from a list of values in the order of `names`; a null stands for an absent header. */
export function decodeHeaders(list: Json, names: readonly string[]): Record<string, string> {
  const known = names.flatMap((name, place) => (list?.[place] == null ? [] : [[name, String(list[place])]]));
  return Object.fromEntries(known);
}
