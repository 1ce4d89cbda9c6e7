/** Limits of keys and tags in words. */

import type { Limits } from '../keys.ts';
import { formatCount } from './numbers.tsx';

/** Names of limits with their values. */
export function limitRows(limits: Limits): [string, string][] {
  const words = (limit: number | undefined) => (limit === undefined ? 'no limit' : formatCount(limit));
  return [
    ['Requests per minute', words(limits.requests_per_minute)],
    ['Tokens per minute', words(limits.tokens_per_minute)],
    ['Concurrent requests', words(limits.concurrent_requests)],
  ];
}

/** In one line; empty without limits. */
export function limitWords({
  requests_per_minute: requests,
  tokens_per_minute: tokens,
  concurrent_requests: atOnce,
}: Limits): string {
  return [
    ...(requests === undefined ? [] : [`${formatCount(requests)} requests/min`]),
    ...(tokens === undefined ? [] : [`${formatCount(tokens)} tokens/min`]),
    ...(atOnce === undefined ? [] : [`${formatCount(atOnce)} concurrent`]),
  ].join(', ');
}
