/** Limits of keys and tags in words. */

import type { EffectiveLimits, Limits } from '../keys.ts';
import { formatCount } from './numbers.tsx';

const NAMES: Record<keyof Limits, string> = {
  requests_per_minute: 'Requests per minute',
  tokens_per_minute: 'Tokens per minute',
  concurrent_requests: 'Concurrent requests',
};
const UNITS: Record<keyof Limits, string> = {
  requests_per_minute: 'requests/min',
  tokens_per_minute: 'tokens/min',
  concurrent_requests: 'concurrent',
};
const KINDS = Object.keys(NAMES) as (keyof Limits)[];

/** Names of limits with their values; a limit of the defaults is marked. */
export function limitRows(limits: Limits | EffectiveLimits): [string, string][] {
  return KINDS.map((kind) => {
    const { value, mark } = limitOf(limits, kind);
    return [NAMES[kind], value === undefined ? 'no limit' : formatCount(value) + mark];
  });
}

/** In one line; empty without limits. A limit of the defaults is marked. */
export function limitWords(limits: Limits | EffectiveLimits): string {
  return KINDS.flatMap((kind) => {
    const { value, mark } = limitOf(limits, kind);
    return value === undefined ? [] : [`${formatCount(value)} ${UNITS[kind]}${mark}`];
  }).join(', ');
}

function limitOf(limits: Limits | EffectiveLimits, kind: keyof Limits): { value: number | undefined; mark: string } {
  const limit = limits[kind];
  if (typeof limit !== 'object') return { value: limit, mark: '' };
  return { value: limit.limit, mark: limit.from === 'defaults' ? ' (default)' : '' };
}
