/** Limits of keys and tags, in words and in fields of a form. */

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

/** Fields of a form, each with its option in a command. */
export const LIMITS: readonly { limit: keyof Limits; label: string; option: string }[] = [
  { limit: 'requests_per_minute', label: 'Requests/min', option: '--rpm' },
  { limit: 'tokens_per_minute', label: 'Tokens/min', option: '--tpm' },
  { limit: 'concurrent_requests', label: 'Concurrent', option: '--concurrent' },
];

/** Texts of the fields; empty without a limit. */
export function limitTexts(limits: Limits | undefined): Record<keyof Limits, string> {
  const text = (kind: keyof Limits) => String(limits?.[kind] ?? '');
  return {
    requests_per_minute: text('requests_per_minute'),
    tokens_per_minute: text('tokens_per_minute'),
    concurrent_requests: text('concurrent_requests'),
  };
}

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
