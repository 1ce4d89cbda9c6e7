/** Key output of the command line. */

import { systemClock } from '../core/clock.ts';
import { encodeFacts, iso } from '../http/admin/key-object.ts';
import { type Key, stateOf } from '../keys/key.ts';
import { tagList } from '../records/tags.ts';

export const HEADINGS = ['NAME', 'KEY', 'STATE', 'CREATED', 'EXPIRES', 'MODELS', 'OWNER', 'TAGS', 'ID'];

/** JSON output, as in the admin API. */
export function describeKey(key: Key): object {
  return { id: key.id, prefix: key.prefix, ...encodeFacts(key, systemClock.now()) };
}

export function rowOf(key: Key): string[] {
  return [
    key.name,
    `${key.prefix}…`,
    stateOf(key, systemClock.now()),
    iso(key.created)?.slice(0, 10) ?? key.origin,
    iso(key.expires) ?? 'never',
    key.settings.models?.join(',') ?? 'all',
    key.settings.owner ?? '',
    tagList(key.settings.tags).join(','),
    key.id,
  ];
}

/** Table rows, one for each field. */
export function fieldRowsOf(key: Key): string[][] {
  return fieldRows(describeKey(key));
}

export function fieldRows(described: object): string[][] {
  return Object.entries(described).flatMap(([name, value]) => flatten(name, value));
}

function flatten(name: string, value: unknown): string[][] {
  if (value === null) return [];
  if (Array.isArray(value)) return [[name, value.join(', ')]];
  if (typeof value !== 'object') return [[name, String(value)]];
  return Object.entries(value).flatMap(([inner, one]) => flatten(`${name}.${inner}`, one));
}
