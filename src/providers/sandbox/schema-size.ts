/** JSON size of values in characters, cached per object. */

import type { Json } from '../../core/json/json.ts';
import type { SchemaWork } from '../../core/json/schema-budget.ts';

const CHARACTERS_PER_STEP = 64;
/** Quotes, commas and small values. */
const SCALAR_CHARACTERS = 8;

export function createSizes(work: SchemaWork): (value: Json) => number {
  const sizes = new WeakMap<object, number>();
  return (value) => {
    if (typeof value === 'string') return value.length;
    if (typeof value !== 'object' || value === null) return SCALAR_CHARACTERS;
    const known = sizes.get(value);
    if (known !== undefined) return known;
    const size = JSON.stringify(value).length;
    work.spend(size / CHARACTERS_PER_STEP);
    sizes.set(value, size);
    return size;
  };
}
