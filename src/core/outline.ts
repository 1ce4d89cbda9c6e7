/** What tells one JSON value from others, made quickly however large it is. */

import type { Json } from './json/json.ts';

/** Of a text, and of all texts together. */
const OUTLINE_CHARACTERS = 1000;
const OUTLINE_TOTAL_CHARACTERS = 256 * 1024;

/** Text that tells one value from others by its structure and the beginnings of its texts, quickly however large it is. */
export function outline(value: Json): string {
  let left = OUTLINE_TOTAL_CHARACTERS;
  const shortened = (_name: string, inner: unknown): unknown => {
    if (typeof inner !== 'string') return inner;
    const most = Math.min(left, OUTLINE_CHARACTERS);
    left -= Math.min(inner.length, most);
    return inner.length > most ? `${inner.slice(0, most)}${inner.length}` : inner;
  };
  return JSON.stringify(value, shortened) ?? '';
}
