/** Outline of a JSON value: a bounded text that identifies it, whatever its size. */

import type { Json } from './json/json.ts';

/** Limits for one text and for all texts together. */
const OUTLINE_CHARACTERS = 1000;
const OUTLINE_TOTAL_CHARACTERS = 256 * 1024;

/** JSON with long texts replaced by their beginning and length. */
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
