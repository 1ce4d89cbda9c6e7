/** A key as the command line shows it. */

import { type Key, stateOf } from '../keys/key.ts';

export const HEADINGS = ['NAME', 'KEY', 'STATE', 'CREATED', 'EXPIRES', 'MODELS', 'ID'];

/** For programs: moments are ISO dates, and settings stand beside the rest. */
export function describeKey({ settings, allows: _, ...key }: Key): object {
  return {
    ...key,
    ...settings,
    state: stateOf({ ...key, settings }, Date.now()),
    created: iso(key.created),
    updated: iso(key.updated),
    expires: iso(key.expires),
    revoked: iso(key.revoked),
    lastUsed: iso(key.lastUsed),
    previousUntil: iso(key.previousUntil),
  };
}

export function rowOf(key: Key): string[] {
  return [
    key.name,
    `${key.prefix}…`,
    stateOf(key, Date.now()),
    iso(key.created)?.slice(0, 10) ?? key.origin,
    iso(key.expires) ?? 'never',
    key.settings.models?.join(',') ?? 'all',
    key.id,
  ];
}

/** For people: a line each. */
export function fieldsOf(key: Key): string[][] {
  return Object.entries(describeKey(key)).flatMap(([name, value]) => (value === undefined ? [] : linesOf(name, value)));
}

function linesOf(name: string, value: unknown): string[][] {
  if (Array.isArray(value)) return [[name, value.join(', ')]];
  if (typeof value !== 'object' || value === null) return [[name, String(value)]];
  return Object.entries(value).flatMap(([inner, one]) => linesOf(`${name}.${inner}`, one));
}

function iso(moment: number | undefined): string | undefined {
  return moment === undefined ? undefined : new Date(moment).toISOString();
}
