/** Query parameters of the admin API. */

import { GatewayError } from '../../core/errors.ts';
import { parseTag } from '../../records/tags.ts';

/** Rows on a page of a list, by the list. */
export const PAGES = {
  keys: { least: 1, most: 100, byDefault: 100 },
  tags: { least: 1, most: 100, byDefault: 100 },
  audit: { least: 1, most: 1000, byDefault: 100 },
  videos: { least: 1, most: 100, byDefault: 20 },
  models: { least: 1, most: 1000, byDefault: 100 },
};

/** Boolean query parameter; false if it is absent. Throws `invalid_request` unless it is `true` or `false`. */
export function flag(query: URLSearchParams, name: string): boolean {
  const text = query.get(name) ?? 'false';
  if (text === 'true' || text === 'false') return text === 'true';
  throw new GatewayError('invalid_request', `${name} must be true or false.`, { param: name });
}

interface Bounds<Default> {
  least: number;
  most: number;
  byDefault: Default;
}

/** Whole number of a query parameter; the bounds are inclusive. Throws `invalid_request`. */
export function whole<Default extends number | undefined>(
  query: URLSearchParams,
  name: string,
  { least, most, byDefault }: Bounds<Default>,
): number | Default {
  const text = query.get(name);
  if (text === null) return byDefault;
  const value = Number(text);
  if (/^\d{1,15}$/.test(text) && value >= least && value <= most) return value;
  throw new GatewayError('invalid_request', `${name} must be a whole number between ${least} and ${most}.`, {
    param: name,
  });
}

/** One of the allowed values; undefined without the parameter. */
export function option<Value extends string>(
  query: URLSearchParams,
  name: string,
  allowed: readonly Value[],
): Value | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const found = allowed.find((value) => value === text);
  if (found !== undefined) return found;
  throw new GatewayError('invalid_request', `${name} must be one of ${allowed.join(', ')}.`, { param: name });
}

const MAX_TEXT_CHARACTERS = 200;

/** A text to look for; undefined without the parameter. */
export function searchText(query: URLSearchParams, name: string): string | undefined {
  const given = query.get(name);
  if (given === null || (given !== '' && given.length <= MAX_TEXT_CHARACTERS)) return given ?? undefined;
  const message = `${name} must have 1 to ${MAX_TEXT_CHARACTERS} characters.`;
  throw new GatewayError('invalid_request', message, { param: name });
}

/** A tag as `name=value`; undefined without the parameter. */
export function readTag(query: URLSearchParams): [name: string, value: string] | undefined {
  const given = query.get('tag');
  if (given === null) return undefined;
  const tag = parseTag(given);
  if (tag) return tag;
  throw new GatewayError('invalid_request', 'tag must be a tag such as team=search.', { param: 'tag' });
}

/** A place in a list of rows by time, as clients get it from `next` and give it back in `after`. */
export interface ListPosition {
  createdAt: number;
  id: string;
}

const POSITION = /^(\d{1,15})\.([0-9A-Za-z_-]{1,100})$/;

/** Cursor of a list: `<Unix milliseconds>.<id>`. */
export function encodePosition({ createdAt, id }: ListPosition): string {
  return `${createdAt}.${id}`;
}

/** Decodes the cursor `after`. Throws `invalid_request`. */
export function position(query: URLSearchParams): ListPosition | undefined {
  const text = query.get('after');
  if (text === null) return undefined;
  const [, createdAt, id] = POSITION.exec(text) ?? [];
  if (createdAt !== undefined && id !== undefined) return { createdAt: Number(createdAt), id };
  throw new GatewayError('invalid_request', 'after must be the next of another page.', { param: 'after' });
}
