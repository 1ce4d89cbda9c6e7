/** Sample numbers and strings for a JSON Schema node. */

import type { Json } from '../../core/json/json.ts';
import { lookUp } from '../../core/plain-objects.ts';
import { samplePattern } from './pattern-sample.ts';

/** Maximum length of a generated string. */
const MAX_STRING_CHARACTERS = 10_000;

/** Undefined if no number matches. */
export function sampleNumber(node: Record<string, Json>, integer: boolean, nth: number): number | undefined {
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = node;
  const step = node.multipleOf ?? 1;
  const fits = (number: number): boolean =>
    Number.isFinite(number) &&
    number >= minimum &&
    number <= maximum &&
    number > exclusiveMinimum &&
    number < exclusiveMaximum &&
    (!integer || Number.isInteger(number)) &&
    (node.multipleOf === undefined || Number.isInteger(number / step));
  const low = Math.max(minimum, exclusiveMinimum);
  const high = Math.min(maximum, exclusiveMaximum);
  const first = Math.ceil(low / step) * step;
  const last = Math.floor(high / step) * step;
  const start = [1, 0, first, first + step, last, last - step, (low + high) / 2, low, high].find(fits);
  if (start === undefined) return undefined;
  return [start + nth * step, start - nth * step].find(fits) ?? start;
}

/** The text truncated or padded to the required length, unless a pattern or format applies. */
export function sampleString(node: Record<string, Json>, text: string): string | undefined {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format } = node;
  if (minLength > Math.min(maxLength, MAX_STRING_CHARACTERS)) return undefined;
  const patterned = typeof pattern === 'string' ? samplePattern(pattern, minLength) : undefined;
  if (patterned !== undefined) return patterned;
  return lookUp(FORMAT_SAMPLES, format) ?? truncate(text, maxLength).padEnd(minLength, 'x');
}

/** Truncates by code points, not UTF-16 units. */
function truncate(text: string, length: number): string {
  if (text.length <= length) return text;
  return [...text.slice(0, length * 2)].slice(0, length).join('');
}

const FORMAT_SAMPLES: Record<string, string> = {
  'date-time': '2000-01-01T00:00:00Z',
  date: '2000-01-01',
  time: '00:00:00Z',
  duration: 'P1D',
  email: 'sandbox@example.com',
  'idn-email': 'sandbox@example.com',
  hostname: 'example.com',
  'idn-hostname': 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  'uri-reference': '/',
  iri: 'https://example.com/',
  'iri-reference': '/',
  'uri-template': '/{id}',
  uuid: '00000000-0000-4000-8000-000000000000',
  'json-pointer': '/0',
  'relative-json-pointer': '0',
  regex: '.',
  byte: 'c2FuZGJveA==',
};
