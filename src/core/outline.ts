/** Outline of a JSON value: a bounded text that identifies it, whatever its size. */

import type { Json } from './json/json.ts';

/** Limits for one text and for all texts together. */
const OUTLINE_CHARACTERS = 1000;
const OUTLINE_TOTAL_CHARACTERS = 256 * 1024;

/** JSON with long texts replaced by their beginning and length. */
export function outline(value: Json): string {
  let remaining = OUTLINE_TOTAL_CHARACTERS;
  const shortened = (_name: string, inner: unknown): unknown => {
    if (typeof inner !== 'string') return inner;
    const limit = Math.min(remaining, OUTLINE_CHARACTERS);
    remaining -= Math.min(inner.length, limit);
    return inner.length > limit ? `${inner.slice(0, limit)}${inner.length}` : inner;
  };
  return JSON.stringify(value, shortened) ?? '';
}
